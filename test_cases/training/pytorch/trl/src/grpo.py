"""GRPO with the policy served by vLLM on the last node and trained on all others. Started by torchrun on all nodes.

Each process looks at the number of its node: those of the last one serve, the others train in a world without it. They find each
other through torchrun's own store, and the job ends when either part does.
"""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import timedelta

STARTING = 1800  # seconds that a server may take to load the policy


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--model", required=True)
    p.add_argument("--dataset", default="AI-MO/NuminaMath-TIR")
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--micro_batch", type=int, default=1)
    p.add_argument("--grad_accum", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-6)
    p.add_argument("--out", required=True)
    p.add_argument("--save_every", type=int, default=25)
    return p.parse_args()


def tensor_parallel_size(kv_heads, vocabulary, gpus):
    """The most GPUs, up to those of a node, that divide both the key-value heads and the vocabulary."""
    return max(n for n in range(1, gpus + 1) if kv_heads % n == 0 and vocabulary % n == 0)


def last_number(text):
    found = re.findall(r"\\boxed\{([^{}]*)\}", text) or re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)
    return found[-1].replace(",", "").strip() if found else None


def right(completions, solution, **_):
    """1 where the last boxed answer, or the last number, is the solution's."""
    texts = [c[0]["content"] if isinstance(c, list) else c for c in completions]
    return [float(last_number(text) is not None and last_number(text) == last_number(wanted))
            for text, wanted in zip(texts, solution)]


def job_store():
    import torch.distributed as dist

    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False,
                          timeout=timedelta(seconds=STARTING))
    return dist.PrefixStore("grpo", store)


def serve(args, store):
    """On the last node: one process starts the server, all wait for the end of training."""
    if os.environ["LOCAL_RANK"] != "0":
        while not store.check(["done"]):
            time.sleep(10)
        return
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(args.model)
    parts = tensor_parallel_size(config.num_key_value_heads, config.vocab_size, int(os.environ["LOCAL_WORLD_SIZE"]))
    clean = {name: value for name, value in os.environ.items()
             if name not in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                             "GROUP_RANK", "ROLE_RANK") and not name.startswith("TORCHELASTIC_")}
    server = subprocess.Popen(["trl", "vllm-serve", "--model", args.model, "--tensor_parallel_size", str(parts), "--host",
                               "0.0.0.0", "--port", "8000"], env=clean)
    try:
        limit = time.monotonic() + STARTING
        while not healthy("127.0.0.1"):
            if server.poll() is not None or time.monotonic() > limit:
                raise SystemExit(f"vLLM did not start within {STARTING} s (exit {server.poll()})")
            time.sleep(5)
        store.set("server", socket.gethostbyname(socket.gethostname()))
        while not store.check(["done"]):
            if server.poll() is not None:
                raise SystemExit(f"vLLM ended with {server.poll()} before the training did")
            time.sleep(5)
    finally:
        server.terminate()
        server.wait(timeout=60)


def healthy(host):
    try:
        with urllib.request.urlopen(f"http://{host}:8000/health/", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def train(args, store, trainers):
    import transformers
    from datasets import load_dataset
    from trl import GRPOConfig, GRPOTrainer

    os.environ["WORLD_SIZE"] = str(trainers)
    os.environ["GROUP_WORLD_SIZE"] = str(trainers // int(os.environ["LOCAL_WORLD_SIZE"]))
    host = store.get("server").decode()  # waits for it
    zero3 = os.path.join(args.out, "zero3.json")
    if os.environ["RANK"] == "0":
        os.makedirs(args.out, exist_ok=True)
        with open(zero3 + ".partial", "w") as file:
            json.dump({"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True},
                       "bf16": {"enabled": True}, "gradient_clipping": 1.0, "train_micro_batch_size_per_gpu": "auto",
                       "gradient_accumulation_steps": "auto", "train_batch_size": "auto"}, file)
        os.replace(zero3 + ".partial", zero3)
        store.set("settings", "written")
    store.wait(["settings"], timedelta(seconds=STARTING))
    data = load_dataset(args.dataset, split="train")
    data = data.map(lambda row: {"prompt": [{"role": "user", "content": row["problem"]}]},
                    remove_columns=[name for name in data.column_names if name not in ("solution", "prompt")])
    settings = GRPOConfig(
        output_dir=args.out, max_steps=args.steps, per_device_train_batch_size=args.micro_batch,
        gradient_accumulation_steps=args.grad_accum, num_generations=8, max_completion_length=2048, learning_rate=args.lr,
        bf16=True, gradient_checkpointing=True, deepspeed=zero3, use_vllm=True, vllm_mode="server", vllm_server_host=host,
        vllm_server_port=8000, logging_steps=1, save_steps=args.save_every, save_total_limit=2, report_to=[])
    trainer = GRPOTrainer(model=args.model, reward_funcs=right, args=settings, train_dataset=data)
    last = transformers.trainer_utils.get_last_checkpoint(args.out) if os.path.isdir(args.out) else None
    trainer.train(resume_from_checkpoint=last)
    if os.environ["RANK"] == "0":
        store.set("done", "yes")


def main():
    args = parse_args()
    each, world, node = (int(os.environ[name]) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE", "GROUP_RANK"))
    if world < 2 * each:
        sys.exit("two nodes at least: one serves, the others train")
    store = job_store()
    if node == world // each - 1:
        serve(args, store)
    else:
        train(args, store, world - each)


if __name__ == "__main__":
    main()
