"""A data set of the hub as one tensor of token ids: python3 prepare.py --dataset NAME --tokenizer NAME --out tokens.pt"""

import argparse
import os

import torch
from datasets import load_dataset
from transformers import AutoTokenizer


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--dataset", required=True)
    p.add_argument("--tokenizer", required=True)
    p.add_argument("--out", required=True)
    args = p.parse_args()
    if os.path.exists(args.out):
        print(f"{args.out} is there already")
        return
    tokenizer = AutoTokenizer.from_pretrained(args.tokenizer)

    def encode(rows):
        return {"ids": [ids + [tokenizer.eos_token_id] for ids in tokenizer(rows["text"], verbose=False)["input_ids"]]}

    texts = load_dataset(args.dataset, split="train")
    encoded = texts.map(encode, batched=True, remove_columns=texts.column_names, num_proc=os.cpu_count())
    parts = [torch.cat([torch.tensor(ids, dtype=torch.int32) for ids in rows["ids"]]) for rows in encoded.iter(10000)]
    os.makedirs(os.path.dirname(os.path.abspath(args.out)), exist_ok=True)
    torch.save(torch.cat(parts), args.out + ".partial")
    os.replace(args.out + ".partial", args.out)


if __name__ == "__main__":
    main()
