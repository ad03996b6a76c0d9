"""Trains a Llama with tensor, pipeline and data parallelism at once, each written out: a small trainer in the manner of picotron.

On GPUs over NCCL, on CPU processes over Gloo. Started by torchrun with tp x pp x dp processes:
    torchrun --nproc_per_node=8 train.py --tp 2 --pp 2 --dp 2 --data book.txt
"""

import argparse
import datetime
import math
import os
import shutil
import sys
import time

import torch
import torch.distributed as dist

from model import Stage
from parallel import Grid, Pipeline, all_reduce_gradients, clip_gradients


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("tp", "pp", "dp"):
        p.add_argument(f"--{name}", type=int, default=1)
    p.add_argument("--data", required=True, help="a text file, read as bytes, or a file of token ids (.pt)")
    p.add_argument("--vocab_size", type=int, default=256)
    p.add_argument("--layers", type=int, default=5)
    p.add_argument("--hidden", type=int, default=2048)
    p.add_argument("--heads", type=int, default=32)
    p.add_argument("--kv_heads", type=int, default=32)
    p.add_argument("--ffn", type=int, default=8192)
    p.add_argument("--seq_len", type=int, default=128)
    p.add_argument("--micro_batch", type=int, default=4)
    p.add_argument("--grad_accum", type=int, default=2, help="micro batches of one step")
    p.add_argument("--steps", type=int, default=5000)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--precision", default="bf16", choices=["bf16", "fp32"])
    p.add_argument("--peak_tflops", type=float, default=0.0, help="of one device, for MFU; 0: not known")
    p.add_argument("--checkpoint_dir", default="")
    p.add_argument("--checkpoint_every", type=int, default=0)
    p.add_argument("--resume", default="auto", choices=["auto", "never"])
    p.add_argument("--timeout", type=float, default=300, help="seconds that a collective may take")
    args = p.parse_args()
    for what, count in (("heads", args.heads), ("key-value heads", args.kv_heads), ("width of feed-forward", args.ffn),
                        ("vocabulary", args.vocab_size)):
        if count % args.tp:
            p.error(f"the {what} of {count} can't be split by tp {args.tp}")
    if args.layers < args.pp:
        p.error(f"{args.layers} layers can't fill {args.pp} pipeline stages")
    return args


class Batches:
    """Sequences of seq_len + 1 tokens. Each data-parallel rank takes others; all ranks of one replica take the same."""

    def __init__(self, args, grid):
        ids = torch.load(args.data, weights_only=True) if args.data.endswith(".pt") else \
            torch.frombuffer(bytearray(open(args.data, "rb").read()), dtype=torch.uint8)
        length = args.seq_len + 1
        self.windows = ids[: len(ids) // length * length].view(-1, length)
        self.args, self.grid = args, grid

    def micro_batches(self, step):
        """The micro batches of one step: a function of the step only, so that a restart goes on where it was."""
        per_step = self.args.micro_batch * self.args.grad_accum * self.args.dp
        first = step * per_step + self.grid.dp_rank * self.args.micro_batch * self.args.grad_accum
        rows = [self.row(first + i) for i in range(self.args.micro_batch * self.args.grad_accum)]
        return torch.stack(rows).long().split(self.args.micro_batch)

    def row(self, index):
        epoch, place = divmod(index, len(self.windows))
        stride = 1000003 + 2 * epoch  # a walk through all windows that jumps about; prime to the count
        while math.gcd(stride, len(self.windows)) != 1:
            stride += 2
        return self.windows[place * stride % len(self.windows)]


class Checkpoints:
    """DIR/step-N with one file for each rank of a replica, written beside the final name by the first replica."""

    def __init__(self, directory, grid):
        self.directory, self.grid = directory, grid

    def file(self, folder):
        return os.path.join(folder, f"tp{self.grid.tp_rank}-pp{self.grid.pp_rank}.pt")

    def save(self, step, stage, optimizer):
        final = os.path.join(self.directory, f"step-{step}")
        partial = final + ".partial"
        if dist.get_rank() == 0:
            shutil.rmtree(partial, ignore_errors=True)
            os.makedirs(partial)
        dist.barrier()
        if self.grid.dp_rank == 0:
            shape = (self.grid.tp, self.grid.pp)
            torch.save({"step": step, "shape": shape, "model": stage.state_dict(), "optimizer": optimizer.state_dict()},
                       self.file(partial))
        dist.barrier()
        if dist.get_rank() == 0:
            shutil.rmtree(final, ignore_errors=True)
            os.rename(partial, final)
        dist.barrier()

    def load(self, stage, optimizer, device):
        """Steps that are done; 0 without a checkpoint."""
        names = os.listdir(self.directory) if os.path.isdir(self.directory) else []
        steps = [int(name[5:]) for name in names if name.startswith("step-") and name[5:].isdigit()]
        newest = torch.tensor([max(steps, default=0)], device=device)
        dist.broadcast(newest, 0)
        if not newest.item():
            return 0
        state = torch.load(self.file(os.path.join(self.directory, f"step-{newest.item()}")), map_location=device,
                           weights_only=True)
        if tuple(state["shape"]) != (self.grid.tp, self.grid.pp):
            raise SystemExit(f"the checkpoint is of tp, pp {tuple(state['shape'])}: start with the same, or --resume never")
        stage.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        return state["step"]


def short(number):
    """12345 -> 12.35K"""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if number >= size:
            return f"{number / size:.2f}{letter}"
    return f"{number:.2f}"


def main():
    args = parse_args()
    local = int(os.environ["LOCAL_RANK"])
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo", timeout=datetime.timedelta(seconds=args.timeout))
    grid = Grid(args.tp, args.pp, args.dp)
    sys.stdout.write(f"Rank {dist.get_rank()}: world of {dist.get_world_size()} on {device.type} over {dist.get_backend()}\n")
    dtype = torch.bfloat16 if args.precision == "bf16" else torch.float32

    stage = Stage(args, grid).to(device)
    optimizer = torch.optim.AdamW(stage.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.1, fused=on_gpu)
    pipeline = Pipeline(grid, stage, (args.micro_batch, args.seq_len, args.hidden), dtype, device)
    batches = Batches(args, grid)
    checkpoints = Checkpoints(args.checkpoint_dir, grid)
    step = checkpoints.load(stage, optimizer, device) if args.checkpoint_dir and args.resume == "auto" else 0

    counts = torch.tensor([stage.count()], dtype=torch.float64 if not on_gpu else torch.float32, device=device)
    dist.all_reduce(counts, group=grid.pp_group)
    logs = grid.is_last_stage and grid.tp_rank == 0 and grid.dp_rank == 0  # the rank that knows the loss
    if logs:
        print(f"[rank {dist.get_rank()}] {short(counts.item())} parameters, tp {args.tp} pp {args.pp} dp {args.dp}, "
              f"starting at step {step}", flush=True)

    tokens_step = args.micro_batch * args.grad_accum * args.dp * args.seq_len
    flops = 6 * counts.item() + 6 * args.layers * args.hidden * args.seq_len
    while step < args.steps:
        began = time.perf_counter()
        loss = pipeline.step(batches.micro_batches(step))
        all_reduce_gradients(stage, grid)
        clip_gradients(stage, grid, args.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        total = torch.tensor([loss], device=device)
        dist.all_reduce(total, group=grid.dp_group)
        value = total.item() / args.dp
        seconds = time.perf_counter() - began
        if logs:
            speed = tokens_step / seconds
            each = speed / dist.get_world_size()
            mfu = 100 * each * flops / 1e12 / args.peak_tflops if args.peak_tflops else 0.0
            memory = torch.cuda.max_memory_reserved() / 1e9 if on_gpu else 0.0
            sys.stdout.write(
                f"[rank {dist.get_rank()}] Step: {step} | Loss: {value:6.4f} | Global batch size: {short(tokens_step)} | "
                f"Tokens/s: {short(speed)} | Tokens/s/GPU: {short(each)} | Tokens: {short(step * tokens_step)} | "
                f"MFU: {mfu:5.2f}% | Memory usage: {memory:6.2f}GB\n")
            sys.stdout.flush()
        if grid.is_last_stage and not math.isfinite(value):
            raise SystemExit(f"the loss of step {step} is {value}")
        if args.checkpoint_dir and (step == args.steps or args.checkpoint_every and step % args.checkpoint_every == 0):
            checkpoints.save(step, stage, optimizer)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
