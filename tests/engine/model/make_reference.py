#!/usr/bin/env python3
"""Makes reference/: tiny random Llamas and what Hugging Face transformers computes for them, in float32 on a CPU.

Recipe (the committed files were made once with the versions that reference/*/expected.json names):

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors
    venv/bin/python tests/engine/model/make_reference.py

Each folder holds config.json, the weights, and expected.json: per sequence all logits, the log-probability of each token given
those before it, and the mean cross-entropy; and the gradient norm of each parameter for the mean over all predicted tokens of
all sequences. Weights are drawn wide (deviation 0.2), so that a mistake anywhere shows in the logits.
"""

import json
import pathlib
import shutil

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM

SEED = 20240607
SEQUENCES = [24, 9]

CASES = {
    # Tied, grouped queries, Llama 3's rope scaling (with a short original context, so that every band of it is used);
    # config.json as transformers 5 writes it; one file.
    "tied_llama3": dict(
        config=dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                    num_key_value_heads=2, vocab_size=61, tie_word_embeddings=True, max_position_embeddings=128,
                    rms_norm_eps=1e-5,
                    rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0,
                                         high_freq_factor=4.0, original_max_position_embeddings=32)),
        save=dict(), classic=False),
    # Untied, one key/value head, a head size that is not hidden / heads; config.json in the classic spelling; several files.
    "untied_head_dim": dict(
        config=dict(hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
                    num_key_value_heads=1, head_dim=10, vocab_size=53, tie_word_embeddings=False,
                    max_position_embeddings=64, rms_norm_eps=1e-6,
                    rope_parameters=dict(rope_type="default", rope_theta=10000.0)),
        save=dict(max_shard_size="12KB"), classic=True),
    # Linear rope scaling, as many key/value heads as query heads, weights saved in bfloat16.
    "linear_bf16": dict(
        config=dict(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
                    num_key_value_heads=2, vocab_size=37, tie_word_embeddings=False, max_position_embeddings=64,
                    rms_norm_eps=1e-5,
                    rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=4.0)),
        save=dict(), classic=False, dtype=torch.bfloat16),
}


def classic_spelling(path):
    """What transformers 4 wrote: rope_theta and rope_scaling beside each other, torch_dtype."""
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    config["torch_dtype"] = config.pop("dtype")
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def make(name, case, out):
    torch.manual_seed(SEED)
    model = LlamaForCausalLM(LlamaConfig(**case["config"])).float().eval()
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.1 * noise if parameter.dim() == 1 else 0.2 * noise)
    if "dtype" in case:
        model = model.to(case["dtype"])
    shutil.rmtree(out, ignore_errors=True)
    model.save_pretrained(out, **case["save"])
    (out / "generation_config.json").unlink(missing_ok=True)
    if case["classic"]:
        classic_spelling(out / "config.json")
    model = LlamaForCausalLM.from_pretrained(out, dtype=torch.float32, attn_implementation="eager").eval()

    vocabulary = case["config"]["vocab_size"]
    sequences, total, count = [], 0.0, 0
    for length in SEQUENCES:
        ids = torch.randint(0, vocabulary, (length,), generator=generator)
        logits = model(ids[None]).logits[0]
        logprobs = torch.log_softmax(logits[:-1], -1).gather(1, ids[1:, None])[:, 0]
        total = total - logprobs.sum()
        count += length - 1
        sequences.append(dict(ids=ids.tolist(), logits=[[round(v, 6) for v in row] for row in logits.tolist()],
                              logprobs=[round(v, 6) for v in logprobs.tolist()],
                              mean_cross_entropy=round(-logprobs.mean().item(), 6)))
    (total / count).backward()
    expected = dict(
        versions=dict(torch=torch.__version__, transformers=transformers.__version__), seed=SEED, sequences=sequences,
        gradient_norms={key: float(f"{p.grad.norm().item():.6g}") for key, p in model.named_parameters()})
    (out / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent / "reference"
    for case_name, description in CASES.items():
        make(case_name, description, folder / case_name)
