"""One pipeline stage of a Llama, split over tensor-parallel ranks."""

import hashlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F


class CopyIn(torch.autograd.Function):
    """Forward: the same input on all tensor-parallel ranks; backward: the sum of what they send back."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient, None


class SumOut(torch.autograd.Function):
    """Forward: the sum of the ranks' parts; backward: the same gradient to all."""

    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Split(nn.Module):
    """A matrix of rows x columns of which each rank holds its part: of the rows (dim 0) or the columns (dim 1). Its values do
    not depend on how many ranks there are."""

    def __init__(self, rows, columns, dim, grid, name, seed, std=0.02):
        super().__init__()
        digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
        whole = torch.randn(rows, columns, generator=generator) * std
        self.weight = nn.Parameter(whole.chunk(grid.tp, dim)[grid.tp_rank].clone())
        self.weight.is_split = grid.tp > 1
        self.whole = rows * columns

    def forward(self, x):
        return F.linear(x, self.weight)


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.weight


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Layer(nn.Module):
    def __init__(self, args, grid, number):
        super().__init__()
        self.grid, self.width = grid, args.hidden // args.heads
        self.heads, self.kv_heads = args.heads // grid.tp, args.kv_heads // grid.tp

        def split(rows, columns, dim, name, std=0.02):
            return Split(rows, columns, dim, grid, f"{number}.{name}", args.seed, std)

        kv = args.kv_heads * self.width
        out = 0.02 / (2 * args.layers) ** 0.5
        self.before, self.between = Norm(args.hidden), Norm(args.hidden)
        self.q, self.k = split(args.hidden, args.hidden, 0, "q"), split(kv, args.hidden, 0, "k")
        self.v, self.o = split(kv, args.hidden, 0, "v"), split(args.hidden, args.hidden, 1, "o", out)
        self.gate, self.up = split(args.ffn, args.hidden, 0, "gate"), split(args.ffn, args.hidden, 0, "up")
        self.down = split(args.hidden, args.ffn, 1, "down", out)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        y = CopyIn.apply(self.before(x), self.grid.tp_group)
        q = self.q(y).view(batch, length, self.heads, self.width).transpose(1, 2)
        k = self.k(y).view(batch, length, self.kv_heads, self.width).transpose(1, 2)
        v = self.v(y).view(batch, length, self.kv_heads, self.width).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, 1) for t in (k, v))
        attended = F.scaled_dot_product_attention(q, k.type_as(q), v.type_as(q), is_causal=True)
        x = x + SumOut.apply(self.o(attended.transpose(1, 2).flatten(2)), self.grid.tp_group)
        y = CopyIn.apply(self.between(x), self.grid.tp_group)
        return x + SumOut.apply(self.down(F.silu(self.gate(y)) * self.up(y)), self.grid.tp_group)


class Stage(nn.Module):
    """The layers of this rank's pipeline stage; the first also embeds, the last also makes the loss."""

    def __init__(self, args, grid):
        super().__init__()
        self.grid, self.vocabulary = grid, args.vocab_size
        each, more = divmod(args.layers, grid.pp)
        first = grid.pp_rank * each + min(grid.pp_rank, more)
        self.layers = nn.ModuleList(
            Layer(args, grid, n) for n in range(first, first + each + (grid.pp_rank < more)))
        if grid.is_first_stage:
            self.embedding = Split(args.vocab_size, args.hidden, 0, grid, "embedding", args.seed)
        if grid.is_last_stage:
            self.norm = Norm(args.hidden)
            self.head = Split(args.vocab_size, args.hidden, 0, grid, "head", args.seed)
        width = args.hidden // args.heads
        angles = torch.outer(torch.arange(args.seq_len).float(), 10000 ** -(torch.arange(0, width, 2) / width))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def count(self):
        """Parameters of the stage, over its tensor-parallel ranks."""
        return sum(m.whole for m in self.modules() if isinstance(m, Split)) + \
            sum(m.weight.numel() for m in self.modules() if isinstance(m, Norm))

    def embed(self, ids):
        """Each rank looks up the ids that it holds; the sum has them all."""
        rows = len(self.embedding.weight)
        mine = ids - self.grid.tp_rank * rows
        held = (mine >= 0) & (mine < rows)
        found = F.embedding(mine.clamp(0, rows - 1), self.embedding.weight) * held.unsqueeze(-1)
        return SumOut.apply(found, self.grid.tp_group)

    def loss(self, x, targets):
        """Mean cross-entropy with the vocabulary split: the largest logit, the sum of exponentials and the target's logit are
        each joined over the ranks."""
        logits = self.head(CopyIn.apply(self.norm(x), self.grid.tp_group)).float()
        largest = logits.detach().amax(-1)
        dist.all_reduce(largest, dist.ReduceOp.MAX, group=self.grid.tp_group)
        logits = logits - largest.unsqueeze(-1)
        total = SumOut.apply(logits.exp().sum(-1), self.grid.tp_group)
        rows = logits.shape[-1]
        mine = targets - self.grid.tp_rank * rows
        held = (mine >= 0) & (mine < rows)
        picked = logits.gather(-1, mine.clamp(0, rows - 1).unsqueeze(-1)).squeeze(-1) * held
        return (total.log() - SumOut.apply(picked, self.grid.tp_group)).mean()

    def forward(self, given, targets):
        x = self.embed(given) if self.grid.is_first_stage else given
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.loss(x, targets) if self.grid.is_last_stage else x
