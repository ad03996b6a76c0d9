"""Checkpoints of sharded arrays as numpy files, whole or absent.

Each process writes the shards that it owns to a temporary directory; when all have, process 0 writes the
index and renames the directory. A checkpoint can be read on another mesh: a device's part is put together
from whatever shards hold it.
"""

import hashlib
import json
import os
import pathlib
import shutil

import jax
import numpy as np
from jax.experimental import multihost_utils


class Unusable(Exception):
    """A checkpoint that is damaged or belongs to another model."""


def _leaves(state):
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(state)}


def _box(index, shape):
    """The slices of a shard as [[start, stop], …]."""
    return [list(part.indices(size)[:2]) for part, size in zip(index, shape)]


def _sync(path):
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _steps(directory):
    found = (p for p in pathlib.Path(directory).glob("step-*") if (p / "index.json").is_file())
    return sorted(found, key=lambda p: int(p.name[5:]))


def latest(directory):
    """The newest whole checkpoint, or None."""
    steps = _steps(directory)
    return steps[-1] if steps else None


def save(directory, step, state, keep):
    """Writes `state` (a tree of arrays) and removes all but the last `keep`. Every process calls it."""
    directory = pathlib.Path(directory)
    final, part = directory / f"step-{step:08d}", directory / f".step-{step:08d}.part"
    process, first = jax.process_index(), jax.process_index() == 0
    if first:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
    multihost_utils.sync_global_devices(f"checkpoint {step} opened")

    arrays, boxes = {}, []
    for name, leaf in _leaves(state).items():
        for shard in leaf.addressable_shards:
            if shard.replica_id == 0:  # of copies, one is written
                arrays[str(len(boxes))] = np.asarray(shard.data)
                boxes.append([name, _box(shard.index, leaf.shape)])
    path = part / f"shard-{process:05d}.npz"
    np.savez(path, **arrays)
    _sync(path)
    note = part / f"shard-{process:05d}.json"
    note.write_text(json.dumps({"sha256": _digest(path), "boxes": boxes}))
    _sync(note)
    multihost_utils.sync_global_devices(f"checkpoint {step} written")

    if first:
        index = {
            "step": step,
            "processes": jax.process_count(),
            "arrays": {name: [list(leaf.shape), str(leaf.dtype)] for name, leaf in _leaves(state).items()},
        }
        (part / "index.json").write_text(json.dumps(index))
        _sync(part / "index.json")
        _sync(part)
        shutil.rmtree(final, ignore_errors=True)
        part.rename(final)
        _sync(directory)
        for old in _steps(directory)[:-keep]:
            shutil.rmtree(old)
    multihost_utils.sync_global_devices(f"checkpoint {step} whole")
    return final


def load(path, like):
    """(step, state) of the checkpoint at `path`, with the shapes and shardings of `like`."""
    path = pathlib.Path(path)
    try:
        index = json.loads((path / "index.json").read_text())
        shards = []
        for process in range(index["processes"]):
            file = path / f"shard-{process:05d}.npz"
            note = json.loads((path / f"shard-{process:05d}.json").read_text())
            if _digest(file) != note["sha256"]:
                raise Unusable(f"{file}: not what was written: its SHA-256 differs")
            shards.append((np.load(file), note["boxes"]))
    except (OSError, ValueError, KeyError) as error:
        raise Unusable(f"{path}: {error}") from error

    def restore(where, leaf):
        name = jax.tree_util.keystr(where)
        written = index["arrays"].get(name)
        if written != [list(leaf.shape), str(leaf.dtype)]:
            raise Unusable(f"{path}: {name} is {written}, this model has {[list(leaf.shape), str(leaf.dtype)]}")

        def part(wanted):
            box = _box(wanted, leaf.shape)
            out = np.empty([stop - start for start, stop in box], leaf.dtype)
            filled = 0
            for arrays, boxes in shards:
                for number, (owner, held) in enumerate(boxes):
                    if owner != name:
                        continue
                    both = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, held)]
                    if any(start >= stop for start, stop in both):
                        continue
                    source = tuple(slice(lo - h[0], hi - h[0]) for (lo, hi), h in zip(both, held))
                    target = tuple(slice(lo - w[0], hi - w[0]) for (lo, hi), w in zip(both, box))
                    out[target] = arrays[str(number)][source]
                    filled += int(np.prod([hi - lo for lo, hi in both]))
            if filled != out.size:
                raise Unusable(f"{path}: {name} has {filled} of {out.size} values")
            return out

        return jax.make_array_from_callback(leaf.shape, leaf.sharding, part)

    return index["step"], jax.tree_util.tree_map_with_path(restore, like)
