"""Faults on purpose, at places that a seed decides, so that a run with faults can be repeated."""

import os
import random
import signal
import time


class FaultSchedule:
    """`count` faults between two steps; each of one kind and on one rank. The schedule depends on its arguments only: every
    rank computes the same one, and a restarted run knows which faults it has had."""

    KINDS = ("exception", "sigkill", "hang")

    def __init__(self, count, seed, after_step, before_step, world, weights=(1, 1, 1)):
        if before_step - after_step < count:
            raise SystemExit(f"{count} faults do not fit between step {after_step} and step {before_step}")
        draw = random.Random(seed)
        steps = sorted(draw.sample(range(after_step, before_step), count))
        self.faults = [(step, draw.randrange(world), draw.choices(self.KINDS, weights)[0]) for step in steps]

    def at(self, step, rank):
        """(number, kind) of the fault of this rank at this step, or None."""
        for number, (when, who, kind) in enumerate(self.faults):
            if when == step and who == rank:
                return number, kind
        return None


class Injector:
    """Carries out a schedule. A fault happens once: before it strikes it leaves a mark in `directory`, which all restarts
    share."""

    def __init__(self, schedule, directory, hang_seconds):
        self.schedule, self.directory, self.hang_seconds = schedule, directory, hang_seconds
        os.makedirs(directory, exist_ok=True)

    def strike(self, step, rank):
        fault = self.schedule.at(step, rank)
        if fault is None:
            return
        number, kind = fault
        try:
            mark = os.open(os.path.join(self.directory, f"fault-{number}"), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            return
        os.write(mark, f"{kind} on rank {rank} at step {step}\n".encode())
        os.fsync(mark)
        os.close(mark)
        print(f"FAULT {number}: {kind} on rank {rank} at step {step}", flush=True)
        if kind == "exception":
            raise RuntimeError(f"injected exception at step {step}")
        if kind == "sigkill":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.hang_seconds)  # longer than the limit of a collective, which ends the others
        raise RuntimeError(f"the hang at step {step} was ended by nobody")
