"""Asks the merged model a question on Neuron devices."""

import argparse

from optimum.neuron import NeuronModelForCausalLM
from transformers import AutoTokenizer


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", required=True)
    p.add_argument("--tensor_parallel_size", type=int, default=8)
    p.add_argument("--question", default="Name three rivers of Europe.")
    args = p.parse_args()
    model = NeuronModelForCausalLM.from_pretrained(args.model, export=True, batch_size=1, sequence_length=1024,
                                                   tensor_parallel_size=args.tensor_parallel_size)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    asked = tokenizer(f"### Instruction\n{args.question}\n\n### Answer\n", return_tensors="pt")
    told = model.generate(**asked, max_new_tokens=128, do_sample=False)
    print(tokenizer.decode(told[0][asked["input_ids"].shape[1]:], skip_special_tokens=True))


if __name__ == "__main__":
    main()
