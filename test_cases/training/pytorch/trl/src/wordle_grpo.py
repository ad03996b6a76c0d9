"""Qwen3 learns to play Wordle by GRPO. The game is wordle.py; nothing else is needed beside the model."""

import argparse
import os
import random

import transformers
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

import wordle


def score(completions, secret, answers, **_):
    texts = [c[0]["content"] if isinstance(c, list) else c for c in completions]
    return [wordle.reward(text, word, [tuple(a) for a in given]) for text, word, given in zip(texts, secret, answers)]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", default="Qwen/Qwen3-1.7B")
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--micro_batch", type=int, default=1)
    p.add_argument("--grad_accum", type=int, default=64)
    p.add_argument("--lr", type=float, default=5e-6)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", required=True)
    p.add_argument("--save_every", type=int, default=50)
    args = p.parse_args()
    draw = random.Random(args.seed)
    rows = [{"prompt": [{"role": "user", "content": wordle.prompt(answers)}], "secret": secret,
             "answers": [list(a) for a in answers]} for secret, answers in wordle.positions(10000, draw)]
    settings = GRPOConfig(
        output_dir=args.out, max_steps=args.steps, per_device_train_batch_size=args.micro_batch,
        gradient_accumulation_steps=args.grad_accum, num_generations=8, max_completion_length=1024, learning_rate=args.lr,
        bf16=True, gradient_checkpointing=True, use_vllm=True, vllm_mode="colocate", vllm_gpu_memory_utilization=0.3,
        logging_steps=1, save_steps=args.save_every, save_total_limit=2, report_to=[], seed=args.seed)
    trainer = GRPOTrainer(model=args.model, reward_funcs=score, args=settings, train_dataset=Dataset.from_list(rows))
    last = transformers.trainer_utils.get_last_checkpoint(args.out) if os.path.isdir(args.out) else None
    trainer.train(resume_from_checkpoint=last)
    trainer.save_model(os.path.join(args.out, "final"))


if __name__ == "__main__":
    main()
