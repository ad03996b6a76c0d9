"""The first rows of English C4 as one text file: python3 prepare.py --rows 100000 --out subset.txt"""

import argparse
import os

from datasets import load_dataset


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", type=int, default=100000)
    p.add_argument("--out", required=True)
    args = p.parse_args()
    if os.path.exists(args.out):
        print(f"{args.out} is there already")
        return
    os.makedirs(os.path.dirname(os.path.abspath(args.out)), exist_ok=True)
    with open(args.out + ".partial", "w", encoding="utf-8") as file:
        for row in load_dataset("allenai/c4", "en", split="train", streaming=True).take(args.rows):
            file.write(row["text"] + "\n\n")
    os.replace(args.out + ".partial", args.out)


if __name__ == "__main__":
    main()
