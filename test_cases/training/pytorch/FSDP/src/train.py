"""Trains a decoder from scratch with fully_shard (FSDP2), on GPUs over NCCL or on CPU processes over Gloo.

Started by torchrun, which sets RANK, LOCAL_RANK and WORLD_SIZE:
    torchrun --nproc_per_node=2 train.py --dataset book.txt --max_steps 50
"""

import datetime
import logging
import math
import os
import sys
import time

import torch
import torch.distributed as dist

import checkpoints
from data import make_streams
from model import build_mesh, build_model, flops_per_token
from options import learning_rate, parse_args

logging.basicConfig(level=logging.INFO, stream=sys.stdout,
                    format="%(asctime)s %(levelname).1s [%(filename)s:%(lineno)d] %(message)s")
log = logging.getLogger(__name__)


def start(args):
    """Joins the job; (rank, world, device). Every collective has a limit, so that a lost rank ends the run."""
    local = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        device, backend = torch.device("cuda", local), "nccl"
        torch.cuda.set_device(device)
    else:
        device, backend = torch.device("cpu"), "gloo"
    if args.cpu_offload and backend == "nccl":
        backend = "cuda:nccl,cpu:gloo"
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=args.timeout))
    return dist.get_rank(), dist.get_world_size(), device


def mean_over_ranks(value):
    """The mean of a scalar tensor of each rank."""
    total = value.detach().float().clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


@torch.no_grad()
def validate(model, batches, device):
    losses = []
    model.eval()
    for batch in batches:
        batch = batch.to(device)
        losses.append(model(input_ids=batch, labels=batch).loss.float())
    model.train()
    return mean_over_ranks(torch.stack(losses).mean())


def train(args, rank, world, device):
    say = log.info if rank == 0 else (lambda *_: None)
    torch.manual_seed(args.seed + rank)
    model, total, active = build_model(args, build_mesh(args, device.type, world), device)
    log.info("Rank %d: world of %d on %s over %s", rank, world, device.type, dist.get_backend())
    say("%s with %.2f B parameters (%d)", args.model_type, total / 1e9, total)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(args.beta1, args.beta2),
                                  weight_decay=args.weight_decay)
    stream, validation = make_streams(args, rank, world)

    step = 0
    resume = args.resume_from_checkpoint
    folder = checkpoints.newest(args.checkpoint_dir, args.model_type) if resume == "auto" else resume
    if folder and folder != "never":
        step = checkpoints.load(folder, model, optimizer, stream, say)
        say("Resumed from %s at step %d", folder, step)

    def save():
        if args.checkpoint_dir:
            where = checkpoints.save(args.checkpoint_dir, args.model_type, step, model, optimizer, stream,
                                     args.checkpoint_keep)
            say("Checkpoint of step %d saved to %s", step, where)

    tokens = args.train_batch_size * args.max_context_width
    flops = flops_per_token(args, active)
    saved = step
    began, counted = time.perf_counter(), 0
    batches = iter(stream)
    while step < args.max_steps:
        lr = learning_rate(args, step)
        for group in optimizer.param_groups:
            group["lr"] = lr
        batch = next(batches).to(device)
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        if args.grad_clip > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        counted += 1

        if step % args.logging_freq == 0 or step + 1 == args.max_steps:
            value = mean_over_ranks(loss)  # waits for the device, so the time that follows is true
            seconds = (time.perf_counter() - began) / counted
            each = tokens / seconds
            tflops = each * flops / 1e12
            mfu = tflops / args.peak_tflops_per_gpu if args.peak_tflops_per_gpu > 0 else 0.0
            say("Batch %d Loss: %.5f, Speed: %.2f samples/sec, Tokens/s: %.0f, TFLOPS/GPU: %.1f, MFU: %.3f, lr: %.6f",
                step, value, args.train_batch_size * world / seconds, each * world, tflops, mfu, lr)
            if not math.isfinite(value):
                raise SystemExit(f"the loss of step {step} is {value}")
            began, counted = time.perf_counter(), 0

        step += 1
        paused = time.perf_counter()
        if args.validation_freq and step % args.validation_freq == 0:
            say("Batch %d Validation loss: %.5f", step - 1, validate(model, validation(), device))
        if args.checkpoint_freq and step % args.checkpoint_freq == 0:
            save()
            saved = step
        began += time.perf_counter() - paused  # not part of the speed
    if step != saved:
        save()
    say("Training is complete: %d steps", step)


def main():
    args = parse_args()
    rank, world, device = start(args)
    train(args, rank, world, device)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
