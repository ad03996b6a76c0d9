"""Trains an MLP on MNIST or Fashion-MNIST with DistributedDataParallel: the smallest distributed training that is complete.

On CPU processes over Gloo, on GPUs over NCCL. Started by torchrun:
    torchrun --nproc_per_node=2 train.py --data /usr/share/datasets/fashion-mnist --total_epochs 3
"""

import argparse
import datetime
import math
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import idx


class Mlp(nn.Module):
    """784-512-512-10 with ReLU."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def forward(self, images):
        return self.layers(images)


class Snapshot:
    """The training state after an epoch. Rank 0 alone writes it, beside the final name and then renamed, so that a job that
    is killed in between leaves the one before."""

    def __init__(self, path):
        self.path = path

    def save(self, epochs_done, model, optimizer):
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        partial = self.path + ".partial"
        with open(partial, "wb") as file:
            torch.save({"epochs": epochs_done, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, self.path)

    def load(self, model, optimizer, device):
        """The number of epochs that are done; 0 without a snapshot. All ranks read what rank 0 found."""
        found = torch.tensor([int(dist.get_rank() == 0 and os.path.exists(self.path))], device=device)
        dist.broadcast(found, 0)
        if not found.item():
            return 0
        state = torch.load(self.path, map_location=device, weights_only=True)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        return state["epochs"]


class Tracker:
    """Figures of the run, to MLflow if asked for and there (rank 0 only)."""

    def __init__(self, uri, name, values):
        self.mlflow = None
        if uri:
            import mlflow

            self.mlflow = mlflow
            mlflow.set_tracking_uri(uri)
            mlflow.set_experiment(name)
            mlflow.start_run()
            mlflow.log_params(values)

    def log(self, step, **values):
        if self.mlflow:
            self.mlflow.log_metrics(values, step=step)


def say(line):
    """One line in one write, so that the lines of ranks don't mix."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def sum_over_ranks(*values, device):
    total = torch.tensor(values, dtype=torch.float64 if device.type == "cpu" else torch.float32, device=device)
    dist.all_reduce(total)
    return total.tolist()


@torch.no_grad()
def evaluate(model, images, labels, rank, world):
    """Mean loss and accuracy on the test set, each rank scoring its part."""
    model.eval()
    logits = model.module(images[rank::world])
    loss = nn.functional.cross_entropy(logits, labels[rank::world], reduction="sum").item()
    right = (logits.argmax(1) == labels[rank::world]).sum().item()
    model.train()
    loss, right, count = sum_over_ranks(loss, right, len(logits), device=images.device)
    return loss / count, right / count


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--data", required=True, help="folder with the four idx files of MNIST, gzipped or not")
    p.add_argument("--samples", type=int, default=0, help="of the training set; 0: all")
    p.add_argument("--total_epochs", type=int, default=10)
    p.add_argument("--save_every", type=int, default=1, help="epochs between two snapshots")
    p.add_argument("--batch_size", type=int, default=32, help="of one rank")
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--snapshot_path", default="snapshot.pt", help="on a file system that all nodes share")
    p.add_argument("--resume", default="auto", choices=["auto", "never"])
    p.add_argument("--mlflow_uri", default="", help="tracking server; empty: none")
    p.add_argument("--timeout", type=float, default=300, help="seconds that a collective may take")
    return p.parse_args()


def main():
    args = parse_args()
    local = int(os.environ["LOCAL_RANK"])
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo", timeout=datetime.timedelta(seconds=args.timeout))
    rank, world = dist.get_rank(), dist.get_world_size()
    say(f"Rank {rank}: world of {world} on {device.type} over {dist.get_backend()}")

    torch.manual_seed(args.seed)  # the same weights everywhere; DDP broadcasts rank 0's all the same
    images, labels = idx.load(args.data, "train", args.samples)
    test_images, test_labels = (tensor.to(device) for tensor in idx.load(args.data, "t10k"))
    samples = TensorDataset(images, labels)
    sampler = DistributedSampler(samples, shuffle=True, seed=args.seed)
    loader = DataLoader(samples, batch_size=args.batch_size, sampler=sampler, pin_memory=on_gpu)

    model = DistributedDataParallel(Mlp().to(device), device_ids=[local] if on_gpu else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    snapshot = Snapshot(args.snapshot_path)
    first = snapshot.load(model, optimizer, device) if args.resume == "auto" else 0
    if first and rank == 0:
        say(f"Resuming training from snapshot at epoch {first}")
    tracker = Tracker(args.mlflow_uri if rank == 0 else "", "mnist-mlp", vars(args))

    for epoch in range(first, args.total_epochs):
        sampler.set_epoch(epoch)  # another order each epoch, the same after a restart
        began, losses = time.perf_counter(), []
        for batch, answers in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(model(batch.to(device)), answers.to(device))
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        mean = torch.stack(losses).mean().item()
        say(f"[RANK {rank}] Epoch {epoch} | Batchsize: {args.batch_size} | Steps: {len(loader)} | Loss: {mean:.4f}")
        (total,) = sum_over_ranks(mean, device=device)
        if not math.isfinite(total):
            raise SystemExit(f"the loss of epoch {epoch} is {total / world}")
        test_loss, accuracy = evaluate(model, test_images, test_labels, rank, world)
        if rank == 0:
            speed = len(loader) * args.batch_size * world / (time.perf_counter() - began)
            say(f"Epoch {epoch} | Test loss: {test_loss:.4f} | Accuracy: {accuracy:.4f} | {speed:.0f} samples/s")
            tracker.log(epoch, loss=total / world, test_loss=test_loss, accuracy=accuracy)
            if (epoch + 1) % args.save_every == 0 or epoch + 1 == args.total_epochs:
                snapshot.save(epoch + 1, model, optimizer)
                say(f"Epoch {epoch} | Training snapshot saved at {args.snapshot_path}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
