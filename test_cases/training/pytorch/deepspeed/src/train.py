"""Trains a decoder from scratch with DeepSpeed's ZeRO 1, 2 or 3, on GPUs over NCCL or on CPU processes over Gloo.

    torchrun --nproc_per_node=2 train.py --data book.txt --zero_stage 3
On CPUs DeepSpeed wants to be told: DS_ACCELERATOR=cpu.
"""

import argparse
import datetime
import math
import os
import sys
import time

import deepspeed
import torch
import torch.distributed as dist
import transformers
from deepspeed.accelerator import get_accelerator


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--data", required=True, help="a text file, read as bytes")
    p.add_argument("--zero_stage", type=int, default=1, choices=[0, 1, 2, 3])
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--ffn", type=int, default=384)
    p.add_argument("--seq_len", type=int, default=128)
    p.add_argument("--micro_batch", type=int, default=8)
    p.add_argument("--grad_accum", type=int, default=1)
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=1234)
    p.add_argument("--precision", default="bf16", choices=["bf16", "fp32"])
    p.add_argument("--checkpoint_dir", default="")
    p.add_argument("--checkpoint_every", type=int, default=0)
    p.add_argument("--resume", default="auto", choices=["auto", "never"])
    p.add_argument("--timeout", type=float, default=300, help="seconds that a collective may take")
    p.add_argument("--local_rank", type=int, default=-1, help=argparse.SUPPRESS)  # deepspeed's launcher adds it
    return p.parse_args()


def configuration(args):
    return {
        "train_micro_batch_size_per_gpu": args.micro_batch,
        "gradient_accumulation_steps": args.grad_accum,
        "optimizer": {"type": "AdamW", "params": {"lr": args.lr, "betas": [0.9, 0.95], "weight_decay": 0.1,
                                                  "torch_adam": True}},
        "zero_optimization": {"stage": args.zero_stage, "overlap_comm": False, "contiguous_gradients": True},
        "bf16": {"enabled": args.precision == "bf16"},
        "gradient_clipping": args.clip,
        "steps_per_print": 1000000,
    }


class Batches:
    """Sequences of seq_len bytes, other ones for each rank; the i-th micro batch is a function of i only."""

    def __init__(self, args, rank, world):
        data = torch.frombuffer(bytearray(open(args.data, "rb").read()), dtype=torch.uint8)
        self.windows = data[: len(data) // args.seq_len * args.seq_len].view(-1, args.seq_len)
        self.args, self.rank, self.world = args, rank, world

    def micro_batch(self, number):
        first = (number * self.world + self.rank) * self.args.micro_batch
        epoch = first // len(self.windows)
        order = torch.randperm(len(self.windows), generator=torch.Generator().manual_seed(self.args.seed + epoch))
        rows = [int(order[(first + i) % len(self.windows)]) for i in range(self.args.micro_batch)]
        return self.windows[rows].long()


def main():
    args = parse_args()
    accelerator = get_accelerator()
    on_gpu = accelerator.device_name() == "cuda"
    deepspeed.init_distributed("nccl" if on_gpu else "gloo", timeout=datetime.timedelta(seconds=args.timeout))
    rank, world, local = dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)

    sys.stdout.write(f"Rank {rank}: world of {world} on {device.type} over {dist.get_backend()}\n")

    torch.manual_seed(args.seed)
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=args.hidden, num_hidden_layers=args.layers, num_attention_heads=args.heads,
        num_key_value_heads=args.heads, intermediate_size=args.ffn, max_position_embeddings=args.seq_len, use_cache=False)
    settings = configuration(args)
    # Makes parameters in parts from the start; a model that fits the memory of the host needs it on no CPU.
    with deepspeed.zero.Init(config_dict_or_path=settings, enabled=args.zero_stage == 3 and on_gpu):
        model = transformers.AutoModelForCausalLM.from_config(config)
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)

    step = 0
    if args.checkpoint_dir and args.resume == "auto" and os.path.exists(os.path.join(args.checkpoint_dir, "latest")):
        _, state = engine.load_checkpoint(args.checkpoint_dir)
        step = state["step"]
        if rank == 0:
            print(f"resumed from step {step}", flush=True)
    batches = Batches(args, rank, world)
    while step < args.steps:
        began, losses = time.perf_counter(), []
        for micro in range(args.grad_accum):
            batch = batches.micro_batch(step * args.grad_accum + micro).to(device)
            loss = engine(input_ids=batch, labels=batch).loss
            engine.backward(loss)
            engine.step()
            losses.append(loss.detach().float())
        step += 1
        value = torch.stack(losses).mean()
        dist.all_reduce(value)
        value = value.item() / world
        if rank == 0:
            milliseconds = 1000 * (time.perf_counter() - began)
            samples = args.micro_batch * args.grad_accum * world
            sys.stdout.write(
                f" iteration {step:8d}/{args.steps:8d} | consumed samples: {step * samples:12d} | elapsed time per iteration "
                f"(ms): {milliseconds:.1f} | learning rate: {args.lr:.3E} | global batch size: {samples:5d} | lm loss: "
                f"{value:.6E} |\n")
            sys.stdout.flush()
        if not math.isfinite(value):
            raise SystemExit(f"the loss of step {step} is {value}")
        if args.checkpoint_dir and (step == args.steps or args.checkpoint_every and step % args.checkpoint_every == 0):
            engine.save_checkpoint(args.checkpoint_dir, tag=f"step-{step}", client_state={"step": step})
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
