"""A student learns the distribution of the next token from a teacher with the same tokenizer."""

import argparse
import os

import torch
import transformers
from datasets import load_dataset
from torch.nn import functional as F
from trl import SFTConfig, SFTTrainer


class Distiller(SFTTrainer):
    """alpha x T^2 x KL(teacher || student) of the softened distributions, and (1 - alpha) x the usual loss."""

    def __init__(self, *arguments, teacher, temperature, alpha, **more):
        super().__init__(*arguments, **more)
        self.teacher = teacher.to(self.args.device).eval().requires_grad_(False)
        self.temperature, self.alpha = temperature, alpha

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        with torch.no_grad():
            taught = self.teacher(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
        shared = min(outputs.logits.shape[-1], taught.shape[-1])  # the tables are padded to different sizes
        asked = inputs["labels"][:, 1:] != -100
        student = F.log_softmax(outputs.logits[:, :-1, :shared][asked].float() / self.temperature, -1)
        teacher = F.log_softmax(taught[:, :-1, :shared][asked].float() / self.temperature, -1)
        divergence = F.kl_div(student, teacher, log_target=True, reduction="batchmean") * self.temperature**2
        loss = self.alpha * divergence + (1 - self.alpha) * outputs.loss
        return (loss, outputs) if return_outputs else loss


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--teacher", required=True)
    p.add_argument("--student", required=True)
    p.add_argument("--dataset", required=True)
    p.add_argument("--temperature", type=float, default=2.0)
    p.add_argument("--alpha", type=float, default=0.5)
    p.add_argument("--steps", type=int, default=2000)
    p.add_argument("--micro_batch", type=int, default=1)
    p.add_argument("--grad_accum", type=int, default=8)
    p.add_argument("--seq_len", type=int, default=4096)
    p.add_argument("--lr", type=float, default=2e-5)
    p.add_argument("--out", required=True)
    p.add_argument("--save_every", type=int, default=500)
    p.add_argument("--resume", default="auto", choices=["auto", "never"])
    args = p.parse_args()

    roles = {"system": "system", "human": "user", "gpt": "assistant"}
    data = load_dataset(args.dataset, split="train")
    data = data.map(lambda row: {"messages": [{"role": roles[turn["from"]], "content": turn["value"]}
                                              for turn in row["conversations"]]}, remove_columns=data.column_names)
    teacher = transformers.AutoModelForCausalLM.from_pretrained(args.teacher, dtype=torch.bfloat16)
    settings = SFTConfig(
        output_dir=args.out, max_steps=args.steps, per_device_train_batch_size=args.micro_batch,
        gradient_accumulation_steps=args.grad_accum, max_length=args.seq_len, learning_rate=args.lr, bf16=True,
        gradient_checkpointing=True, logging_steps=10, save_steps=args.save_every, save_total_limit=2, report_to=[])
    trainer = Distiller(model=args.student, args=settings, train_dataset=data, teacher=teacher, temperature=args.temperature,
                        alpha=args.alpha)
    last = transformers.trainer_utils.get_last_checkpoint(args.out) if os.path.isdir(args.out) else None
    trainer.train(resume_from_checkpoint=last if args.resume == "auto" else None)
    trainer.save_model(os.path.join(args.out, "final"))


if __name__ == "__main__":
    main()
