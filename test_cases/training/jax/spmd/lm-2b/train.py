"""Trains a language model with plain JAX: one process a device, one sharded step over all of them.

    python train.py --model lm-tiny --data book.txt --seq-len 128 --steps 60 --precision fp32 --out run

Started once for each device; how the processes find each other is read from --coordinator, --processes and
--process, or else from the environment of torchrun's kind (MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK), or
of Slurm (SLURM_NTASKS, SLURM_PROCID; the first node of the job coordinates). Alone it is one process.

Exit codes: 0 done, 2 an input that can't be used, 3 the loss is not finite.
"""

import argparse
import functools
import os
import pathlib
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

import checkpoint
import model


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--model", choices=sorted(model.SIZES), default="lm-2b")
    add("--data", default="synthetic", help="a text file, read as bytes; or synthetic")
    add("--out", default="out", help="where checkpoints go")
    add("--steps", type=int, default=300)
    add("--seq-len", type=int, default=1024)
    add("--batch", type=int, default=8, help="sequences of one step over all processes")
    add("--accumulate", type=int, default=1, help="passes that one step's batch is split into")
    add("--tensor-parallel", type=int, default=1, help="devices that share one layer")
    add("--precision", choices=("fp32", "bf16"), default="bf16")
    add("--remat", choices=("true", "false"), default="false", help="recompute activations in the backward pass")
    add("--lr", type=float, default=3e-4)
    add("--min-lr", type=float, default=3e-5)
    add("--warmup", type=int, default=10)
    add("--weight-decay", type=float, default=0.1)
    add("--beta1", type=float, default=0.9)
    add("--beta2", type=float, default=0.95)
    add("--clip", type=float, default=1.0)
    add("--seed", type=int, default=0)
    add("--log-every", type=int, default=10)
    add("--checkpoint-every", type=int, default=0, help="steps; 0: at the end only")
    add("--keep", type=int, default=2)
    add("--resume", default="auto", help="auto, never, or a checkpoint's directory")
    add("--coordinator", help="HOST:PORT of process 0")
    add("--processes", type=int)
    add("--process", type=int)
    add("--timeout", type=int, default=300, help="seconds to wait for the other processes")
    return parser.parse_args()


def stop(code, message):
    print(f"train.py: {message}", file=sys.stderr, flush=True)
    # The other processes wait in collectives; leaving them through their own exit would wait for them.
    os._exit(code)


def place(options):
    """(coordinator, processes, process), or None for one process."""
    env = os.environ
    if options.coordinator:
        return options.coordinator, options.processes, options.process
    if "WORLD_SIZE" in env:
        return f"{env['MASTER_ADDR']}:{env['MASTER_PORT']}", int(env["WORLD_SIZE"]), int(env["RANK"])
    if int(env.get("SLURM_NTASKS", "1")) > 1:
        names = ["scontrol", "show", "hostnames", env["SLURM_JOB_NODELIST"]]
        first = subprocess.run(names, check=True, capture_output=True, text=True, timeout=60).stdout.split()[0]
        port = 20000 + int(env["SLURM_JOB_ID"]) % 20000
        return f"{first}:{port}", int(env["SLURM_NTASKS"]), int(env["SLURM_PROCID"])
    return None


def join(options):
    where = place(options)
    if not where or where[1] == 1:
        return
    address, processes, process = where
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    local = os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID"))
    jax.distributed.initialize(
        coordinator_address=address,
        num_processes=processes,
        process_id=process,
        local_device_ids=None if local is None or os.environ.get("JAX_PLATFORMS") == "cpu" else [int(local)],
        initialization_timeout=options.timeout,
    )


def draw(options, vocab, text):
    """A function (step, row) -> tokens of one sequence and the token after it. It depends on nothing else,
    so that every process can make its own part of a batch, on any mesh, from any step."""
    length = options.seq_len + 1

    def of_text(step, row):
        random = np.random.Generator(np.random.Philox(key=[options.seed, step * options.batch + row]))
        start = random.integers(0, len(text) - length + 1)
        return text[start : start + length].astype(np.int32)

    def synthetic(step, row):
        random = np.random.Generator(np.random.Philox(key=[options.seed, step * options.batch + row]))
        steps = np.where(random.random(length) < 0.9, 7, random.integers(0, vocab, length))
        return (np.cumsum(steps) % vocab).astype(np.int32)

    return synthetic if text is None else of_text


def global_batch(options, mesh, rows, step):
    """Tokens [accumulate, batch / accumulate, seq_len + 1], split over the mesh's data axis."""
    per_pass = options.batch // options.accumulate
    shape = (options.accumulate, per_pass, options.seq_len + 1)

    def part(index):
        passes, sequences = range(*index[0].indices(shape[0])), range(*index[1].indices(shape[1]))
        return np.stack([np.stack([rows(step, p * per_pass + s) for s in sequences]) for p in passes])

    return jax.make_array_from_callback(shape, NamedSharding(mesh, P(None, "data", None)), part)


def learning_rate(options, step):
    """Linear warm-up, then half a cosine down to min_lr."""
    warm = (step + 1) / max(options.warmup, 1)
    done = jnp.clip((step - options.warmup) / max(options.steps - options.warmup, 1), 0, 1)
    cosine = options.min_lr + (options.lr - options.min_lr) * 0.5 * (1 + jnp.cos(jnp.pi * done))
    return jnp.where(step < options.warmup, options.lr * warm, cosine)


def make_step(options, shape, mesh):
    """The jitted step: (state, batch) -> (state, loss, norm of the gradient, learning rate)."""
    dtype = jnp.bfloat16 if options.precision == "bf16" else jnp.float32
    of_pass = functools.partial(model.loss, shape=shape, mesh=mesh, dtype=dtype, remat=options.remat == "true")
    decay = model.decayed(shape)

    def step(state, batch):
        def one(total, tokens):
            value, gradient = jax.value_and_grad(of_pass)(state["parameters"], tokens)
            return jax.tree.map(jnp.add, total, (value, gradient)), None

        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, state["parameters"]))
        (value, gradient), _ = jax.lax.scan(one, zero, batch)
        value, gradient = jax.tree.map(lambda x: x / options.accumulate, (value, gradient))

        norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(gradient)))
        scale = jnp.minimum(1.0, options.clip / (norm + 1e-6)) if options.clip > 0 else 1.0
        count = state["step"]
        rate = learning_rate(options, count)
        after = (count + 1).astype(jnp.float32)

        def adamw(weight, g, first, second, decays):
            g = g * scale
            first = options.beta1 * first + (1 - options.beta1) * g
            second = options.beta2 * second + (1 - options.beta2) * g * g
            update = (first / (1 - options.beta1**after)) / (jnp.sqrt(second / (1 - options.beta2**after)) + 1e-8)
            return weight - rate * (update + (options.weight_decay if decays else 0.0) * weight), first, second

        done = jax.tree.map(adamw, state["parameters"], gradient, state["first"], state["second"], decay)
        parts = [jax.tree.map(lambda t, i=i: t[i], done, is_leaf=lambda t: isinstance(t, tuple)) for i in range(3)]
        state = {"parameters": parts[0], "first": parts[1], "second": parts[2], "step": count + 1}
        return state, value, norm, rate

    where = state_shardings(shape, mesh)
    everywhere = NamedSharding(mesh, P())
    return jax.jit(step, donate_argnums=0, out_shardings=(where, everywhere, everywhere, everywhere))


def state_shardings(shape, mesh):
    of = model.shardings(shape, mesh)
    return {"parameters": of, "first": of, "second": of, "step": NamedSharding(mesh, P())}


def fresh(options, shape, mesh):
    """The state before the first step."""

    def make():
        parameters = model.initialise(shape, jax.random.key(options.seed))
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return {"parameters": parameters, "first": zeros, "second": zeros, "step": jnp.zeros((), jnp.int32)}

    return jax.jit(make, out_shardings=state_shardings(shape, mesh))()


def check(options, shape, devices):
    """What is wrong with the options, or None."""
    tensor = options.tensor_parallel
    if devices % tensor:
        return f"--tensor-parallel {tensor} does not divide the {devices} devices"
    data = devices // tensor
    if options.batch % (options.accumulate * data):
        return f"--batch {options.batch} is not a multiple of {options.accumulate} passes × {data} data-parallel ranks"
    for name, size, by in (
        ("heads", shape.heads, tensor),
        ("ffn", shape.ffn, tensor),
        ("vocab", shape.vocab, tensor),
        ("dim", shape.dim, data),
    ):
        if size % by:
            return f"{name} {size} of {options.model} can't be split by {by}"
    return None


def read_text(options, shape):
    if options.data == "synthetic":
        return None
    try:
        text = np.frombuffer(pathlib.Path(options.data).read_bytes(), np.uint8)
    except OSError as error:
        stop(2, f"--data {options.data}: {error.strerror}")
    if shape.vocab < 256:
        stop(2, f"the vocabulary of {options.model} does not hold the 256 bytes of a text")
    if len(text) <= options.seq_len:
        stop(2, f"--data {options.data} has {len(text)} bytes, less than one sequence")
    return text


def main():
    options = arguments()
    join(options)
    shape = model.SIZES[options.model]
    devices = jax.device_count()
    if wrong := check(options, shape, devices):
        stop(2, wrong)
    rows = draw(options, shape.vocab, read_text(options, shape))
    first = jax.process_index() == 0

    def say(line):
        if first:
            print(line, flush=True)

    mesh = jax.make_mesh(
        (devices // options.tensor_parallel, options.tensor_parallel),
        ("data", "model"),
        axis_types=(jax.sharding.AxisType.Auto,) * 2,
    )
    say(
        f"world size: {jax.process_count()} processes, {devices} {jax.devices()[0].platform} devices, "
        f"data {mesh.shape['data']} × model {mesh.shape['model']}; {shape.parameters():,} parameters"
    )

    state, begin = fresh(options, shape, mesh), 0
    found = checkpoint.latest(options.out) if options.resume == "auto" else None
    if options.resume not in ("auto", "never"):
        found = options.resume
    if found:
        try:
            begin, state = checkpoint.load(found, state)
        except checkpoint.Unusable as error:
            stop(2, str(error))
        say(f"resumed from {found} at step {begin}")

    run = make_step(options, shape, mesh)
    tokens_per_step = options.batch * options.seq_len
    since, logged = time.monotonic(), begin
    for number in range(begin + 1, options.steps + 1):
        state, value, norm, rate = run(state, global_batch(options, mesh, rows, number))
        if number % options.log_every == 0 or number in (begin + 1, options.steps):
            value = float(value)
            if not np.isfinite(value):
                stop(3, f"step {number}: the loss is {value}")
            now = time.monotonic()
            speed = (number - logged) * tokens_per_step / (now - since)
            tflops = speed * shape.flops_per_token(options.seq_len) / devices / 1e12
            say(
                f"step {number}/{options.steps} | loss: {value:.4f} | grad norm: {float(norm):.3f} | "
                f"lr: {float(rate):.2e} | tokens/s: {speed:.0f} | TFLOP/s/device: {tflops:.3g}"
            )
            since, logged = now, number
        last = number == options.steps
        if last or (options.checkpoint_every and number % options.checkpoint_every == 0):
            saving = time.monotonic()
            path = checkpoint.save(options.out, number, state, options.keep)
            say(f"checkpoint {path} written in {time.monotonic() - saving:.1f} s")
            since += time.monotonic() - saving
    say("training complete")


if __name__ == "__main__":
    main()
