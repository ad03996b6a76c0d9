"""Rewards that a rule can verify: 1 where the last number of an answer is the one that the label ends with, else 0."""

import re

import torch

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def last_number(text):
    found = NUMBER.findall(text)
    return float(found[-1].replace(",", "")) if found else None


def score(answer, label):
    wanted, given = last_number(label), last_number(answer)
    return float(wanted is not None and given is not None and abs(wanted - given) < 1e-6)


def reward_func(queries, prompts, labels):
    """OpenRLHF's interface: queries hold prompt and answer."""
    scores = [score(query[len(prompt):], label) for query, prompt, label in zip(queries, prompts, labels)]
    rewards = torch.tensor(scores)
    return {"rewards": rewards, "scores": rewards, "extra_logs": {"right": rewards}}
