"""Joins the parts of the newest checkpoint, whatever its step is, and merges the adapters into the base model."""

import argparse
import os

import torch
from optimum.neuron.models.training import consolidate_model_parallel_checkpoints_to_unified_checkpoint
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.trainer_utils import get_last_checkpoint


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--base", required=True)
    p.add_argument("--adapters", required=True, help="output directory of the training")
    p.add_argument("--out", required=True)
    args = p.parse_args()
    newest = get_last_checkpoint(args.adapters)
    if newest is None:
        raise SystemExit(f"{args.adapters} has no checkpoint")
    whole = os.path.join(args.adapters, "consolidated")
    consolidate_model_parallel_checkpoints_to_unified_checkpoint(newest, whole)
    model = AutoModelForCausalLM.from_pretrained(args.base, dtype=torch.bfloat16)
    PeftModel.from_pretrained(model, whole).merge_and_unload().save_pretrained(args.out)
    AutoTokenizer.from_pretrained(args.base).save_pretrained(args.out)
    print(f"merged {newest} into {args.out}")


if __name__ == "__main__":
    main()
