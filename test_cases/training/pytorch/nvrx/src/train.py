"""Trains a language model that is made to fail, and goes on from its checkpoint when ft_launcher starts it again.

    ft_launcher --nproc_per_node=2 --max-restarts=5 train.py --data book.txt --out run --fault_count 2
Each start reads how far the last one came; when all steps are done, rank 0 prints how much of the time was useful.
"""

import argparse
import datetime
import json
import math
import os
import sys
import time

import torch
import torch.distributed as dist
import transformers
from torch.nn.parallel import DistributedDataParallel

from faults import FaultSchedule, Injector


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--data", required=True, help="a text file, read as bytes or with --tokenizer")
    p.add_argument("--tokenizer", default="bytes")
    p.add_argument("--model", default="tiny", help="tiny, gpt2, or a folder or name of the hub with a config.json")
    p.add_argument("--sharding", default="none", choices=["none", "full"], help="none is DDP, full is fully_shard")
    p.add_argument("--out", required=True, help="directory of checkpoints and marks, shared by all nodes")
    p.add_argument("--steps", type=int, default=2000)
    p.add_argument("--batch_size", type=int, default=4)
    p.add_argument("--seq_len", type=int, default=512)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--checkpoint_every", type=int, default=500)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--fault_count", type=int, default=5)
    p.add_argument("--fault_after", type=int, default=10)
    p.add_argument("--fault_weights", type=float, nargs=3, default=[1, 1, 1], metavar=("EXCEPTION", "SIGKILL", "HANG"))
    p.add_argument("--timeout", type=float, default=60, help="seconds that a collective may take")
    return p.parse_args()


def make_model(name, seq_len):
    """Fresh weights: this trains from scratch."""
    if name == "tiny":
        config = transformers.GPT2Config(vocab_size=256, n_positions=seq_len, n_embd=64, n_layer=2, n_head=2)
    elif name == "gpt2":
        config = transformers.GPT2Config(n_positions=max(1024, seq_len))
    else:
        config = transformers.AutoConfig.from_pretrained(name)
    config.use_cache = False
    return transformers.AutoModelForCausalLM.from_config(config)


def load_tokens(args):
    raw = open(args.data, "rb").read()
    if args.tokenizer == "bytes":
        ids = torch.frombuffer(bytearray(raw), dtype=torch.uint8)
    else:
        tokenizer = transformers.AutoTokenizer.from_pretrained(args.tokenizer)
        ids = torch.tensor(tokenizer(raw.decode(), verbose=False)["input_ids"], dtype=torch.int32)
    return ids[: len(ids) // args.seq_len * args.seq_len].view(-1, args.seq_len)


class Progress:
    """What survives a restart beside the checkpoint: when the run began, and the time that trained steps took. One line for
    each step, appended by rank 0; a step that is trained twice counts once."""

    def __init__(self, path):
        self.path = path
        self.began, self.useful, self.starts = time.time(), {}, 0
        for line in open(path) if os.path.exists(path) else []:
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # a line that a kill cut off
            if "start" in entry:
                self.starts += 1
                self.began = min(self.began, entry["start"])
            else:
                self.useful[entry["step"]] = entry["seconds"]

    def add(self, **entry):
        with open(self.path, "a") as file:
            file.write(json.dumps(entry) + "\n")
        if "step" in entry:
            self.useful[entry["step"]] = entry["seconds"]

    def summary(self):
        wall, useful = time.time() - self.began, sum(self.useful.values())
        return ("TRAINING METRICS SUMMARY\n"
                f"  Steps: {len(self.useful)}\n  Starts: {self.starts + 1}\n  Wall time: {wall:.1f} s\n"
                f"  Training time: {useful:.1f} s\n  Goodput: {100 * useful / wall:.1f} %")


def checkpoint_state(model, optimizer):
    from torch.distributed.checkpoint.state_dict import get_state_dict

    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}


def save(path, step, model, optimizer):
    """PyTorch's distributed form; the name of the folder is written to `latest` when it is whole."""
    import torch.distributed.checkpoint as dcp

    folder = f"step-{step}"
    dcp.save(checkpoint_state(model, optimizer), checkpoint_id=os.path.join(path, folder))
    dist.barrier()
    if dist.get_rank() == 0:
        partial = os.path.join(path, "latest.partial")
        with open(partial, "w") as file:
            file.write(folder)
        os.replace(partial, os.path.join(path, "latest"))
    dist.barrier()


def load(path, model, optimizer):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import set_state_dict

    latest = os.path.join(path, "latest")
    if not os.path.exists(latest):
        return 0
    folder = open(latest).read().strip()
    state = checkpoint_state(model, optimizer)
    dcp.load(state, checkpoint_id=os.path.join(path, folder))
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    return int(folder.removeprefix("step-"))


def main():
    args = parse_args()
    local = int(os.environ["LOCAL_RANK"])
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo", timeout=datetime.timedelta(seconds=args.timeout))
    rank, world = dist.get_rank(), dist.get_world_size()
    sys.stdout.write(f"Rank {rank}: world of {world} on {device.type} over {dist.get_backend()}\n")
    torch.manual_seed(args.seed)
    model = make_model(args.model, args.seq_len).to(device)
    if args.sharding == "full":
        from torch.distributed.fsdp import fully_shard

        blocks = model.transformer.h if hasattr(model, "transformer") else model.model.layers
        for block in blocks:
            fully_shard(block)
        fully_shard(model)
    else:
        model = DistributedDataParallel(model, device_ids=[local] if on_gpu else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    os.makedirs(args.out, exist_ok=True)
    first = load(args.out, model, optimizer)
    windows = load_tokens(args)
    schedule = FaultSchedule(args.fault_count, args.seed, args.fault_after, args.steps, world, args.fault_weights)
    injector = Injector(schedule, os.path.join(args.out, "faults"), 10 * args.timeout)
    progress = Progress(os.path.join(args.out, "progress.jsonl")) if rank == 0 else None
    if rank == 0:
        progress.add(start=time.time())
        print(f"start {progress.starts} at step {first} of {args.steps}, {world} ranks", flush=True)

    for step in range(first, args.steps):
        began = time.perf_counter()
        injector.strike(step, rank)
        rows = [((step * world + rank) * args.batch_size + i) * 7919 % len(windows) for i in range(args.batch_size)]
        batch = windows[rows].long().to(device)
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        value = loss.detach().float()
        dist.all_reduce(value)
        value = value.item() / world
        if not math.isfinite(value):
            raise SystemExit(f"the loss of step {step} is {value}")
        if rank == 0:
            progress.add(step=step, seconds=time.perf_counter() - began)
            sys.stdout.write(f"step: {step + 1} loss: {value:.4f}\n")
            sys.stdout.flush()
        if (step + 1) % args.checkpoint_every == 0 or step + 1 == args.steps:
            save(args.out, step + 1, model, optimizer)
    if rank == 0:
        print(progress.summary(), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
