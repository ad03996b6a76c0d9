"""LoRA fine-tuning on Trainium with optimum-neuron. Started by torchrun, or by neuron_parallel_compile to compile ahead."""

import argparse
import os

import torch
from datasets import load_dataset
from optimum.neuron import NeuronSFTConfig, NeuronSFTTrainer, NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from peft import LoraConfig
from transformers import AutoTokenizer
from transformers.trainer_utils import get_last_checkpoint


def text(row):
    given = f"\n\n### Context\n{row['context']}" if row["context"] else ""
    return f"### Instruction\n{row['instruction']}{given}\n\n### Answer\n{row['response']}"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", required=True)
    p.add_argument("--dataset", required=True)
    p.add_argument("--tensor_parallel_size", type=int, default=8)
    p.add_argument("--lora_rank", type=int, default=16)
    p.add_argument("--epochs", type=float, default=1)
    p.add_argument("--steps", type=int, default=-1, help="instead of epochs")
    p.add_argument("--micro_batch", type=int, default=1)
    p.add_argument("--grad_accum", type=int, default=16)
    p.add_argument("--seq_len", type=int, default=2048)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--out", required=True)
    args = p.parse_args()
    settings = NeuronTrainingArguments(
        output_dir=args.out, num_train_epochs=args.epochs, max_steps=args.steps, per_device_train_batch_size=args.micro_batch,
        gradient_accumulation_steps=args.grad_accum, learning_rate=args.lr, bf16=True, logging_steps=10, save_steps=200,
        save_total_limit=2, tensor_parallel_size=args.tensor_parallel_size, zero_1=True)
    model = NeuronModelForCausalLM.from_pretrained(args.model, settings.trn_config, dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    tokenizer.pad_token = tokenizer.eos_token
    adapters = LoraConfig(r=args.lora_rank, lora_alpha=2 * args.lora_rank, lora_dropout=0.05, task_type="CAUSAL_LM",
                          target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
    trainer = NeuronSFTTrainer(
        model=model, processing_class=tokenizer, peft_config=adapters, formatting_func=text,
        train_dataset=load_dataset(args.dataset, split="train"),
        args=NeuronSFTConfig(max_length=args.seq_len, packing=True, **settings.to_dict()))
    last = get_last_checkpoint(args.out) if os.path.isdir(args.out) else None
    trainer.train(resume_from_checkpoint=last)
    trainer.save_model(args.out)


if __name__ == "__main__":
    main()
