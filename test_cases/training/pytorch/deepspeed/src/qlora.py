"""Fine-tunes a language model whose weights stay in 4 bits, through LoRA adapters, with ZeRO 2 or 3. Started by torchrun."""

import argparse
import os

import torch
import transformers
from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer


def zero(stage):
    settings = {"stage": stage, "overlap_comm": True, "contiguous_gradients": True, "reduce_scatter": True}
    if stage == 3:
        settings["stage3_gather_16bit_weights_on_model_save"] = True
    return {"zero_optimization": settings, "bf16": {"enabled": True}, "gradient_clipping": 1.0,
            "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto"}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", required=True)
    p.add_argument("--dataset", required=True)
    p.add_argument("--dataset_config", default=None)
    p.add_argument("--zero_stage", type=int, default=2, choices=[2, 3])
    p.add_argument("--lora_rank", type=int, default=16)
    p.add_argument("--lora_alpha", type=int, default=32)
    p.add_argument("--micro_batch", type=int, default=1)
    p.add_argument("--grad_accum", type=int, default=4)
    p.add_argument("--seq_len", type=int, default=1536)
    p.add_argument("--epochs", type=float, default=3)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--out", required=True)
    p.add_argument("--resume", default="auto", choices=["auto", "never"])
    args = p.parse_args()

    # The settings come first: with ZeRO 3 they decide how the model is loaded.
    settings = SFTConfig(
        output_dir=args.out, num_train_epochs=args.epochs, per_device_train_batch_size=args.micro_batch,
        gradient_accumulation_steps=args.grad_accum, max_length=args.seq_len, learning_rate=args.lr, bf16=True,
        optim="paged_adamw_8bit", gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": False},
        logging_steps=10, save_steps=200, save_total_limit=2, report_to=[], deepspeed=zero(args.zero_stage))
    four_bits = transformers.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16, bnb_4bit_quant_storage=torch.bfloat16)
    where = None if args.zero_stage == 3 else {"": int(os.environ["LOCAL_RANK"])}
    model = transformers.AutoModelForCausalLM.from_pretrained(args.model, quantization_config=four_bits, device_map=where,
                                                              dtype=torch.bfloat16)
    data = load_dataset(args.dataset, args.dataset_config, split="train")
    data = data.map(lambda row: {"messages": [
        {"role": "user", "content": row["Question"]},
        {"role": "assistant", "content": f"<think>\n{row['Complex_CoT']}\n</think>\n\n{row['Response']}"}]},
        remove_columns=data.column_names)
    adapters = LoraConfig(r=args.lora_rank, lora_alpha=args.lora_alpha, lora_dropout=0.05, target_modules="all-linear",
                          task_type="CAUSAL_LM")
    trainer = SFTTrainer(model=model, args=settings, train_dataset=data, peft_config=adapters)
    last = transformers.trainer_utils.get_last_checkpoint(args.out) if os.path.isdir(args.out) else None
    trainer.train(resume_from_checkpoint=last if args.resume == "auto" else None)
    trainer.save_model(os.path.join(args.out, "final"))


if __name__ == "__main__":
    main()
