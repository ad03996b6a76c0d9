"""The peer of benchmarks/train.sh: PyTorch trains the same Llama on the same tokens.

Run by torchrun, or alone. Prints one JSON object on rank 0. Parameters and optimizer are float32 and the
computation bfloat16, as in `muster train --precision bf16`: autocast under DDP, MixedPrecisionPolicy under
fully_shard, both with PyTorch's own fused kernels (scaled_dot_product_attention, rms_norm, fused AdamW).
"""

import argparse
import json
import os
import resource
import struct
import time

STARTED = float(os.environ.get("PEER_STARTED", time.time()))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads, self.dim = c["heads"], c["kv_heads"], c["head_dim"]
        hidden, inner = c["hidden"], c["ffn"]
        linear = lambda i, o: nn.Linear(i, o, bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(hidden, 1e-5), nn.RMSNorm(hidden, 1e-5)
        self.q, self.k, self.v = (linear(hidden, n * self.dim) for n in (self.heads, self.kv_heads, self.kv_heads))
        self.o = linear(self.heads * self.dim, hidden)
        self.gate, self.up, self.down = linear(hidden, inner), linear(hidden, inner), linear(inner, hidden)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        n = self.norm1(x)
        q, k, v = (f(n).view(b, t, -1, self.dim).transpose(1, 2) for f in (self.q, self.k, self.v))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, -1))
        n = self.norm2(x)
        return x + self.down(F.silu(self.gate(n)) * self.up(n))


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Llama(nn.Module):
    def __init__(self, c, length):
        super().__init__()
        self.embed = nn.Embedding(c["vocabulary"], c["hidden"])
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["layers"]))
        self.norm = nn.RMSNorm(c["hidden"], 1e-5)
        frequency = c["theta"] ** (-torch.arange(0, c["head_dim"], 2) / c["head_dim"])
        angle = torch.outer(torch.arange(length).float(), frequency)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids, targets):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = F.linear(self.norm(x), self.embed.weight)
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def tokens_of(path):
    """The payload of a token shard of muster-train (src/engine/train/token_shards.h)."""
    with open(path, "rb") as f:
        data = f.read()
    width, count = struct.unpack_from("<IQ", data, 12)
    return torch.frombuffer(bytearray(data[64 : 64 + width * count]), dtype={2: torch.uint16, 4: torch.int32}[width])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", required=True)
    parser.add_argument("--model", required=True, help="JSON object of the model's sizes")
    parser.add_argument("--strategy", choices=("single", "ddp", "fully_shard"), required=True)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--micro-batch", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    a = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if a.strategy != "single":
        dist.init_process_group("gloo")
    model = Llama(json.loads(a.model), a.seq_len)
    autocast = torch.autocast("cpu", dtype=torch.bfloat16, enabled=a.strategy != "fully_shard")
    if a.strategy == "fully_shard":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        mesh = init_device_mesh("cpu", (world,))
        for block in model.blocks:
            if a.compile:
                block.compile()
            fully_shard(block, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
    elif a.strategy == "ddp":
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    run = torch.compile(model) if a.compile and a.strategy != "fully_shard" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)

    tokens = tokens_of(a.tokens)
    window = a.seq_len
    times, losses, first = [], [], None
    for step in range(a.warmup + a.steps):
        begin = time.time()
        at = [((step * world + rank) * a.micro_batch + i) * window for i in range(a.micro_batch)]
        rows = torch.stack([tokens[s : s + window + 1].long() for s in at])
        with autocast:
            loss = run(rows[:, :-1].contiguous(), rows[:, 1:].contiguous())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if world > 1:
            dist.barrier()
        if first is None:
            first = time.time() - STARTED
        times.append(time.time() - begin)
    memory = torch.tensor([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024])
    if world > 1:
        dist.all_reduce(memory, op=dist.ReduceOp.MAX)
    if rank == 0:
        print(
            json.dumps(
                {
                    "torch": torch.__version__,
                    "seconds": times[a.warmup :],
                    "losses": losses,
                    "tokens_per_step": world * a.micro_batch * window,
                    "peak_memory": int(memory),
                    "start_to_first_step_seconds": first,
                }
            ),
            flush=True,
        )
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
