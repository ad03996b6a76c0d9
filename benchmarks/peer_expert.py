"""Dispatch and combine as they are written with torch.distributed, to be measured beside `muster-bench ep`.

A process a rank, with torch.distributed's variables of the environment, on the gloo backend. Rank 0 answers each line of its standard input with the
times of one measurement, as JSON; between them the ranks wait and take no processor. The routing is bit for bit that
of `muster-bench ep --routing uniform`: the same tokens go to the same ranks.

The exchange is what PyTorch's own libraries do for experts: rows sorted by destination (index_select), their numbers
exchanged (all_to_all_single), then rows, experts and weights (all_to_all_single); back the same way, added in place
(index_add_). A token goes once to each rank; with --per-expert, as in the low-latency form, once to each expert, and
its source weighs what comes back.
"""

import argparse
import json
import sys
import time

import numpy
import torch
import torch.distributed as dist

GOLDEN = numpy.uint64(0x9E3779B97F4A7C15)


def scramble(x):
    """splitmix64's finaliser."""
    with numpy.errstate(over="ignore"):
        x = x + GOLDEN
        x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return x ^ (x >> numpy.uint64(31))


def route(seed, rank, tokens, experts, top_k):
    base = scramble(scramble(scramble(numpy.uint64(seed)) ^ numpy.uint64(rank)) ^ numpy.arange(tokens, dtype=numpy.uint64))
    with numpy.errstate(over="ignore"):
        keys = scramble(base[:, None] + numpy.arange(experts, dtype=numpy.uint64)[None, :]) >> numpy.uint64(11)
    return numpy.argsort(keys, axis=1, kind="stable")[:, :top_k].astype(numpy.int64)


class Exchange:
    def __init__(self, a):
        self.a, self.rank, self.ranks = a, dist.get_rank(), dist.get_world_size()
        self.experts = torch.from_numpy(route(a.seed, self.rank, a.tokens, a.experts, a.top_k))
        self.weights = torch.full((a.tokens, a.top_k), 0.25)
        generator = torch.Generator().manual_seed(a.seed + self.rank)
        values = torch.randint(-7, 8, (a.tokens, a.hidden), generator=generator).to(torch.bfloat16)
        # As words of 32 bits: gloo moves neither fp8 nor, in all its versions, bfloat16.
        if a.dtype == "fp8":
            self.scales = torch.full((a.tokens, a.hidden // 128), 7 / 448)
            self.x = (values * 64).to(torch.float8_e4m3fn).view(torch.int32)
        else:
            self.scales = None
            self.x = values.view(torch.int32)

    def to(self, rows, counts_in, counts_out):
        out = rows.new_empty((sum(counts_out), *rows.shape[1:]))
        dist.all_to_all_single(out, rows, counts_out, counts_in)
        return out

    def dispatch(self):
        each = self.a.experts // self.ranks
        if self.a.per_expert:
            order = self.experts.flatten().argsort()
            self.token, self.weight = order // self.a.top_k, self.weights.flatten()[order].to(torch.bfloat16)
            sent = torch.bincount(self.experts.flatten(), minlength=self.a.experts)
            received = torch.empty_like(sent)
            dist.all_to_all_single(received, sent)
            self.sent, self.received = (n.view(self.ranks, each).sum(1).tolist() for n in (sent, received))
            self.rows = self.to(self.x.index_select(0, self.token), self.sent, self.received)
            return
        owner = self.experts // each
        wanted = torch.zeros(self.a.tokens, self.ranks, dtype=torch.bool).scatter_(1, owner, True)
        to_rank, self.token = wanted.t().nonzero(as_tuple=True)
        sent = torch.bincount(to_rank, minlength=self.ranks)
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        self.sent, self.received = sent.tolist(), received.tolist()
        self.rows = self.to(self.x.index_select(0, self.token), self.sent, self.received)
        if self.scales is not None:
            self.to(self.scales.index_select(0, self.token), self.sent, self.received)
        self.to(self.experts.index_select(0, self.token), self.sent, self.received)
        self.to(self.weights.index_select(0, self.token), self.sent, self.received)

    def results(self):
        """Stands for the experts: bf16 rows in the order of what was received."""
        return torch.ones(sum(self.received), self.a.hidden, dtype=torch.bfloat16)

    def combine(self, results):
        back = self.to(results.view(torch.int32), self.received, self.sent).view(torch.bfloat16)
        if self.a.per_expert:
            back *= self.weight[:, None]
        return torch.zeros(self.a.tokens, self.a.hidden, dtype=torch.bfloat16).index_add_(0, self.token, back)


def measure(exchange, iterations):
    times = {"dispatch": [], "combine": []}
    exchange.dispatch()
    results = exchange.results()
    exchange.combine(results)
    for _ in range(iterations):
        for name, step in (("dispatch", exchange.dispatch), ("combine", lambda: exchange.combine(results))):
            dist.barrier()
            start = time.perf_counter()
            step()
            times[name].append((time.perf_counter() - start) * 1e6)
    median = torch.tensor([sorted(times[name])[iterations // 2] for name in ("dispatch", "combine")])
    dist.all_reduce(median)
    median /= dist.get_world_size()
    rows = torch.tensor([float(sum(exchange.received))])
    dist.all_reduce(rows)
    return {"dispatch_us": median[0].item(), "combine_us": median[1].item(), "rows": rows.item() / dist.get_world_size(),
            "torch": torch.__version__}


def main():
    parser = argparse.ArgumentParser()
    for name, value in (("tokens", 4096), ("hidden", 7168), ("top-k", 8), ("experts", 256), ("seed", 0), ("iterations", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--per-expert", action="store_true")
    parser.add_argument("--dtype", choices=("bf16", "fp8"), default="bf16")
    a = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    exchange = Exchange(a)
    go = torch.zeros(1)
    while True:
        if dist.get_rank() == 0:
            go[0] = 1 if sys.stdin.readline() else 0
        dist.broadcast(go, 0)  # the others sleep in it
        if go[0] == 0:
            break
        result = measure(exchange, a.iterations)
        if dist.get_rank() == 0:
            print(json.dumps(result), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
