"""Supervised fine-tuning through LoRA adapters, the model sharded over all ranks. Started by torchrun or hyperpodrun."""

import argparse
import os

import torch
import transformers
from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", required=True)
    p.add_argument("--dataset", required=True)
    p.add_argument("--steps", type=int, default=1000)
    p.add_argument("--micro_batch", type=int, default=1)
    p.add_argument("--grad_accum", type=int, default=4)
    p.add_argument("--seq_len", type=int, default=2048)
    p.add_argument("--lora_rank", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--out", required=True)
    p.add_argument("--save_every", type=int, default=100)
    p.add_argument("--resume", default="auto", choices=["auto", "never"])
    args = p.parse_args()
    settings = SFTConfig(
        output_dir=args.out, max_steps=args.steps, per_device_train_batch_size=args.micro_batch,
        gradient_accumulation_steps=args.grad_accum, max_length=args.seq_len, learning_rate=args.lr, bf16=True,
        gradient_checkpointing=True, logging_steps=10, save_steps=args.save_every, save_total_limit=2, report_to=[],
        fsdp="full_shard auto_wrap", fsdp_config={"version": 2, "activation_checkpointing": False},
        model_init_kwargs={"dtype": torch.bfloat16})
    trainer = SFTTrainer(
        model=args.model, args=settings, train_dataset=load_dataset(args.dataset, split="train"),
        peft_config=LoraConfig(r=args.lora_rank, lora_alpha=2 * args.lora_rank, task_type="CAUSAL_LM",
                               target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]))
    last = transformers.trainer_utils.get_last_checkpoint(args.out) if os.path.isdir(args.out) else None
    trainer.train(resume_from_checkpoint=last if args.resume == "auto" else None)


if __name__ == "__main__":
    main()
