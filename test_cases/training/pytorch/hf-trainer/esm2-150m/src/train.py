"""Trains ESM-2 as a masked language model with the Trainer of Hugging Face, on GPUs or on CPU processes.

    torchrun --nproc_per_node=2 train.py --model tiny --data proteins.txt --out run
The data is a text file with one protein a line, as letters.
"""

import argparse
import os
import sys

import torch
import transformers
from torch.utils.data import Dataset

LETTERS = "LAGVSERTIDPKQNFYMHWCXBUZO.-"
TOKENS = ["<cls>", "<pad>", "<eos>", "<unk>", *LETTERS, "<null_1>", "<mask>"]  # ESM-2's vocabulary of 33
CLS, PAD, EOS, UNKNOWN, MASK = 0, 1, 2, 3, 32


def switch(text):
    return text.lower() in ("1", "true", "yes", "on")


class Proteins(Dataset):
    """Windows of one protein each, as ids of ESM-2."""

    def __init__(self, path, seq_len, limit):
        ids = {letter: number for number, letter in enumerate(TOKENS)}
        self.rows = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                letters = [ids.get(letter, UNKNOWN) for letter in line.strip().upper()]
                for first in range(0, len(letters), seq_len - 2):
                    self.rows.append([CLS, *letters[first:first + seq_len - 2], EOS])
                if len(self.rows) >= limit:
                    break
        if not self.rows:
            raise SystemExit(f"{path} holds no protein")

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class Masking:
    """15 % of the letters are to be guessed: of these 80 % are hidden, 10 % are another letter, 10 % are as they were."""

    def __init__(self, seq_len):
        self.seq_len = seq_len

    def __call__(self, rows):
        ids = torch.full((len(rows), self.seq_len), PAD)
        for i, row in enumerate(rows):
            ids[i, :len(row)] = torch.tensor(row)
        guess = (torch.rand(ids.shape) < 0.15) & (ids > UNKNOWN)
        labels = ids.masked_fill(~guess, -100)
        fate = torch.rand(ids.shape)
        ids = torch.where(guess & (fate < 0.8), MASK, ids)
        ids = torch.where(guess & (fate >= 0.9), torch.randint(4, 4 + len(LETTERS), ids.shape), ids)
        return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": labels}


def make_model(name, seq_len):
    """Fresh weights: this trains from scratch."""
    if name == "tiny":
        config = transformers.EsmConfig(
            vocab_size=33, mask_token_id=MASK, pad_token_id=PAD, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=128, max_position_embeddings=seq_len + 2, position_embedding_type="rotary", token_dropout=True)
    else:
        config = transformers.AutoConfig.from_pretrained(name)
    return transformers.EsmForMaskedLM(config)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--model", default="facebook/esm2_t30_150M_UR50D")
    p.add_argument("--data", required=True)
    p.add_argument("--limit", type=int, default=100000, help="proteins")
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--micro_batch", type=int, default=8)
    p.add_argument("--grad_accum", type=int, default=16)
    p.add_argument("--seq_len", type=int, default=512)
    p.add_argument("--lr", type=float, default=4e-4)
    p.add_argument("--precision", default="bf16", choices=["bf16", "fp32"])
    p.add_argument("--torch_compile", type=switch, default=False)
    p.add_argument("--out", required=True)
    p.add_argument("--save_every", type=int, default=100)
    p.add_argument("--resume", default="auto", choices=["auto", "never"])
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    transformers.set_seed(args.seed)
    settings = transformers.TrainingArguments(
        output_dir=args.out, max_steps=args.steps, per_device_train_batch_size=args.micro_batch,
        gradient_accumulation_steps=args.grad_accum, learning_rate=args.lr, lr_scheduler_type="cosine",
        warmup_steps=max(1, args.steps // 20), bf16=args.precision == "bf16", torch_compile=args.torch_compile,
        logging_steps=max(1, min(10, args.steps // 10)), save_steps=args.save_every, save_total_limit=2, report_to=[],
        seed=args.seed, ddp_find_unused_parameters=True, disable_tqdm=True)
    trainer = transformers.Trainer(model=make_model(args.model, args.seq_len), args=settings,
                                   train_dataset=Proteins(args.data, args.seq_len, args.limit),
                                   data_collator=Masking(args.seq_len))
    if torch.distributed.is_initialized():
        sys.stdout.write(f"Rank {torch.distributed.get_rank()}: world of {torch.distributed.get_world_size()} on "
                         f"{settings.device.type} over {torch.distributed.get_backend()}\n")
    there = os.path.isdir(args.out) and transformers.trainer_utils.get_last_checkpoint(args.out)
    trainer.train(resume_from_checkpoint=there if there and args.resume == "auto" else None)


if __name__ == "__main__":
    main()
