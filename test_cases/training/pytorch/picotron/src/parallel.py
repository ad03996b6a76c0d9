"""The grid of ranks, the schedule of a pipeline and the sums over ranks."""

import torch
import torch.distributed as dist


class Grid:
    """Ranks as tp x pp x dp, tensor-parallel ones side by side: rank = (dp_rank * pp + pp_rank) * tp + tp_rank."""

    def __init__(self, tp, pp, dp):
        world, rank = dist.get_world_size(), dist.get_rank()
        if tp * pp * dp != world:
            raise SystemExit(f"tp {tp} x pp {pp} x dp {dp} is {tp * pp * dp}, but {world} processes were started")
        self.tp, self.pp, self.dp = tp, pp, dp
        self.tp_rank, self.pp_rank, self.dp_rank = rank % tp, rank // tp % pp, rank // (tp * pp)
        ranks = torch.arange(world).view(dp, pp, tp)
        self.tp_group = self._group(ranks.reshape(-1, tp))
        self.pp_group = self._group(ranks.transpose(1, 2).reshape(-1, pp))
        self.dp_group = self._group(ranks.permute(1, 2, 0).reshape(-1, dp))
        self.replica_group = self._group(ranks.reshape(dp, -1))
        self.is_first_stage, self.is_last_stage = self.pp_rank == 0, self.pp_rank == pp - 1
        self.previous, self.next = rank - tp, rank + tp

    @staticmethod
    def _group(rows):
        mine = None
        for row in rows.tolist():  # every rank makes every group, in the same order
            group = dist.new_group(row)
            if dist.get_rank() in row:
                mine = group
        return mine


class Pipeline:
    """All micro batches forward, then all backward (GPipe): simple, and the same sums as without a pipeline."""

    def __init__(self, grid, stage, shape, dtype, device):
        self.grid, self.stage, self.shape, self.dtype, self.device = grid, stage, shape, dtype, device

    def step(self, micro_batches):
        """Gradients of one step; the mean loss on the last stage, 0 on the others."""
        total, kept = 0.0, []
        for batch in micro_batches:
            batch = batch.to(self.device)
            given = None
            if not self.grid.is_first_stage:
                given = torch.empty(self.shape, dtype=self.dtype, device=self.device)
                dist.recv(given, self.grid.previous)
                given.requires_grad_()
            with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.dtype == torch.bfloat16):
                made = self.stage(batch[:, :-1] if given is None else given, batch[:, 1:])
            if self.grid.is_last_stage:
                made = made / len(micro_batches)
                total += made.item()
            else:
                made = made.to(self.dtype)
                dist.send(made.detach().contiguous(), self.grid.next)
            kept.append((given, made))
        for given, made in kept:
            if self.grid.is_last_stage:
                made.backward()
            else:
                gradient = torch.empty(self.shape, dtype=self.dtype, device=self.device)
                dist.recv(gradient, self.grid.next)
                made.backward(gradient)
            if not self.grid.is_first_stage:
                dist.send(given.grad.contiguous(), self.grid.previous)
        return total


def all_reduce_gradients(stage, grid):
    """Means over the data-parallel ranks, all in one message."""
    if grid.dp == 1:
        return
    gradients = [p.grad for p in stage.parameters() if p.grad is not None]
    flat = torch.cat([g.flatten() for g in gradients])
    dist.all_reduce(flat, group=grid.dp_group)
    flat /= grid.dp
    for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients])):
        gradient.copy_(part.view_as(gradient))


def clip_gradients(stage, grid, limit):
    """Clips to a global norm: parameters that tensor-parallel ranks share count once."""
    square = torch.zeros(1, device=next(stage.parameters()).device)
    for parameter in stage.parameters():
        if parameter.grad is not None and (getattr(parameter, "is_split", False) or grid.tp_rank == 0):
            square += parameter.grad.float().pow(2).sum()
    dist.all_reduce(square, group=grid.replica_group)
    scale = (limit / (square.sqrt() + 1e-6)).clamp(max=1.0)
    if limit > 0:
        for parameter in stage.parameters():
            if parameter.grad is not None:
                parameter.grad *= scale
