"""Checkpoints of the whole training state, in PyTorch's distributed form (DCP), which any number of ranks can read back."""

import os
import re
import shutil

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict


def folder_name(model_type, step):
    return f"{model_type}-{step}steps"


def newest(directory, model_type):
    """The complete checkpoint with the highest step: one that was cut off has another name and no .metadata."""
    found = []
    for name in os.listdir(directory) if directory and os.path.isdir(directory) else []:
        match = re.fullmatch(re.escape(model_type) + r"-(\d+)steps", name)
        if match and os.path.exists(os.path.join(directory, name, ".metadata")):
            found.append((int(match[1]), os.path.join(directory, name)))
    return max(found)[1] if found else None


def save(directory, model_type, step, model, optimizer, stream, keep):
    """Writes beside the final name and renames when every rank is done, so that no half checkpoint is ever found."""
    final = os.path.join(directory, folder_name(model_type, step))
    partial = final + ".partial"
    if dist.get_rank() == 0:
        os.makedirs(directory, exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(partial)
    dist.barrier()
    weights, moments = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": moments, "step": step}, checkpoint_id=partial)
    torch.save({"world": dist.get_world_size(), "state": stream.state()},
               os.path.join(partial, f"data-{dist.get_rank():05}.pt"))
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(final, ignore_errors=True)
        os.rename(partial, final)
        for old in complete(directory, model_type)[:-keep]:
            shutil.rmtree(old)
    dist.barrier()
    return final


def complete(directory, model_type):
    """All complete checkpoints, oldest first."""
    steps = []
    for name in os.listdir(directory):
        match = re.fullmatch(re.escape(model_type) + r"-(\d+)steps", name)
        if match:
            steps.append((int(match[1]), os.path.join(directory, name)))
    return [path for _, path in sorted(steps)]


def load(folder, model, optimizer, stream, log):
    """Puts weights, moments and the place in the data back; returns the number of steps that are done."""
    weights, moments = get_state_dict(model, optimizer)  # the right shapes and shards to read into
    state = {"model": weights, "optimizer": moments, "step": 0}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    path = os.path.join(folder, f"data-{dist.get_rank():05}.pt")
    place = torch.load(path, weights_only=True) if os.path.exists(path) else torch.load(
        os.path.join(folder, "data-00000.pt"), weights_only=True)
    if "taken" in place["state"] or place["world"] == dist.get_world_size():
        stream.restore(place["state"])
    else:
        log(f"the checkpoint is of {place['world']} ranks: the streamed data starts over")
    return state["step"]
