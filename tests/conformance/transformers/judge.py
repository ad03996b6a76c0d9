"""Judges an exported model and random ones with transformers: logits and log-probabilities to 1e-4, gradient norms to 1e-3 relative,
token ids exactly. Usage: judge.py MUSTER_TRAIN MODEL WORK"""

import json
import pathlib
import subprocess
import sys

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

PROGRAM, MODEL, WORK = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
TEXTS = ["In the beginning God created the heaven and the earth.", "  spaces,\n\nlines\tand tabs ", "naïve café — 日本語 🙂 ½", "1234567 3.14"]
compared = 0


def ours(*arguments, text=None):
    done = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{arguments}: exit {done.returncode}: {done.stderr}"
    return json.loads(done.stdout)


def judge(folder, sequences, grad):
    """Compares `score` on one model with transformers."""
    global compared
    ids = WORK / "ids.json"
    ids.write_text(json.dumps({"sequences": sequences}))
    got = ours("score", str(folder), "--ids", str(ids), *(["--grad"] if grad else []), "-o", "json")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    total, count = 0, 0
    for sequence, answer in zip(sequences, got["sequences"], strict=True):
        batch = torch.tensor([sequence])
        logits = model(batch).logits[0]
        wanted = torch.log_softmax(logits[:-1], -1).gather(1, batch[0, 1:, None])[:, 0]
        have = torch.tensor([value for value in answer["logprobs"] if value is not None])
        assert have.shape == wanted.shape, (have.shape, wanted.shape)
        assert (have - wanted).abs().max() < 1e-4, f"{folder}: log-probabilities differ by {(have - wanted).abs().max()}"
        last = torch.tensor(answer["last_logits"])
        assert (last - logits[-1]).abs().max() < 1e-4, f"{folder}: logits differ by {(last - logits[-1]).abs().max()}"
        total, count = total - wanted.sum(), count + len(wanted)
        compared += len(wanted)
    if grad:
        (total / count).backward()
        for name, parameter in model.named_parameters():
            norm = parameter.grad.norm().item()
            assert abs(got["gradient_norms"][name] - norm) <= 1e-3 * max(norm, 1e-3), f"{folder}: gradient norm of {name}"
            compared += 1


tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
for text in TEXTS:
    wanted = tokenizer.encode(text, add_special_tokens=False).ids
    got = ours("tokenize", str(MODEL), "-", "-o", "json", text=text)
    assert got["ids"] == wanted, f"ids of {text!r}: {got['ids']} instead of {wanted}"
    compared += len(wanted)
judge(MODEL, [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS], grad=True)

for seed in range(4):
    torch.manual_seed(seed)
    heads = [4, 6, 8, 2][seed]
    config = LlamaConfig(
        hidden_size=8 * heads, num_attention_heads=heads, num_key_value_heads=[2, 3, 8, 1][seed], intermediate_size=24 + 8 * seed,
        num_hidden_layers=1 + seed, vocab_size=50 + seed, tie_word_embeddings=seed % 2 == 0, head_dim=[8, 10, 16, 8][seed],
        rope_parameters={"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 16} if seed % 2 else {"rope_type": "default", "rope_theta": 10000.0})
    folder = WORK / f"random-{seed}"
    LlamaForCausalLM(config).save_pretrained(folder)
    judge(folder, [torch.randint(0, config.vocab_size, (length,)).tolist() for length in (2, 17, 40)], grad=True)

print(f"{compared} values as transformers computes them")
