"""Measures training of SmolLM2-135M: Muster and PyTorch in turns on the same machine, one thread per rank.

Called by benchmarks/train.sh. Prints a table to stdout and writes the whole result as JSON. Ours and the peer's runs
alternate, so that a slow minute of the machine hits both; each figure is the median of its rounds.
"""

import argparse
import datetime
import json
import os
import platform
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import record
import results

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = {"hidden": 576, "layers": 30, "heads": 9, "kv_heads": 3, "head_dim": 64, "ffn": 1536,
         "vocabulary": 49152, "theta": 100000}
SEQ_LEN, MICRO_BATCH = 512, 2
LIMIT = 900  # seconds for any one run


def say(text):
    print(text, file=sys.stderr, flush=True)


def environment():
    return dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")


# ------------------------------------------------------------------------------------------------- the bound


def parameters():
    m = MODEL
    queries, keys = m["heads"] * m["head_dim"], m["kv_heads"] * m["head_dim"]
    block = m["hidden"] * (2 * queries + 2 * keys + 3 * m["ffn"] + 2)
    return m["layers"] * block + m["vocabulary"] * m["hidden"] + m["hidden"]


def products():
    """The products of a forward pass of one rank: (rows, inner, columns) -> how often."""
    m, tokens = MODEL, SEQ_LEN * MICRO_BATCH
    queries, keys, n = m["heads"] * m["head_dim"], m["kv_heads"] * m["head_dim"], m["layers"]
    counts = {}
    for inner, columns, times in (
        (m["hidden"], queries, n), (m["hidden"], keys, 2 * n), (queries, m["hidden"], n),
        (m["hidden"], m["ffn"], 2 * n), (m["ffn"], m["hidden"], n), (m["hidden"], m["vocabulary"], 1),
    ):
        shape = (tokens, inner, columns)
        counts[shape] = counts.get(shape, 0) + times
    return counts


def attention_flops():
    """Of one rank's forward and backward pass: two products forward, four backward, half of each masked."""
    m = MODEL
    return 6 * MICRO_BATCH * m["layers"] * m["heads"] * m["head_dim"] * SEQ_LEN * SEQ_LEN


BOUND = ("seconds of one rank's step >= sum over products 3 * 2 * rows * inner * columns / rate(rows x inner x columns) "
         "+ 6 * batch * layers * heads * head_dim * T^2 / peak(bf16) "
         "+ (weights: 2 reads of 2 bytes; gradients: written and read, 2 bytes; optimizer: 28 bytes read or written "
         "and 2 bytes written per owned parameter; activations: written and read, 2 bytes) / bandwidth. "
         "Rates and bandwidth are measured in the same run with as many processes as ranks.")


def bound_seconds(peak, owned_share):
    m, tokens, count = MODEL, SEQ_LEN * MICRO_BATCH, parameters()
    flop_seconds = attention_flops() / peak["bf16_flops_per_second"]
    for (rows, inner, columns), times in products().items():
        flop_seconds += times * 6 * rows * inner * columns / peak["products"][f"{rows}x{inner}x{columns}"]
    queries, keys = m["heads"] * m["head_dim"], m["kv_heads"] * m["head_dim"]
    # Saved by a block: its two inputs, q, k, v, the attention's output, gate and up.
    activations = tokens * m["layers"] * (2 * m["hidden"] + 2 * queries + 2 * keys + 2 * m["ffn"])
    moved = count * (2 * 2 + 2 * 2 + 30 * owned_share) + 2 * 2 * activations
    return flop_seconds + moved / peak["bytes_per_second"]


def step_flops():
    return 6 * parameters() * SEQ_LEN * MICRO_BATCH + attention_flops()


# ------------------------------------------------------------------------------------------------- the runs


def measure_node(build, processes):
    shapes = ["x".join(map(str, shape)) for shape in products()]
    command = [str(build / "bin" / "node_peak"), *shapes]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) for _ in range(processes)]
    results = [json.loads(p.communicate(timeout=LIMIT)[0]) for p in started]
    mean = lambda pick: statistics.mean(pick(r) for r in results)
    return {
        "bf16_flops_per_second": mean(lambda r: r["bf16_flops_per_second"]),
        "fp32_flops_per_second": mean(lambda r: r["fp32_flops_per_second"]),
        "bytes_per_second": mean(lambda r: r["bytes_per_second"]),
        "products": {s: mean(lambda r: r["products"][s]) for s in shapes},
        "vector_loops": results[0]["vector_loops"],
    }


def run_ours(a, work, strategy, ranks, model="smollm2-135m", steps=None, extra=()):
    out = pathlib.Path(tempfile.mkdtemp(dir=work))
    steps = steps or a.warmup + a.steps
    command = [str(a.build / "bin" / "muster-train"), "train", "--model", model, "--data", str(work / "text.txt"),
               "--tokenizer", "bpe:4096", "--out", str(out / "out"), "--metrics", str(out), "--steps", str(steps),
               "--seq-len", str(SEQ_LEN), "--micro-batch", str(MICRO_BATCH), "--precision", "bf16",
               "--strategy", strategy, "--lr", "1e-3", "--min-lr", "1e-4", "--clip", "1.0", "--threads", "1",
               "--resume", "never", "--no-deterministic", *extra]
    # The prepared text is kept, as it is from the second run in a directory on.
    if (work / "data").is_dir():
        shutil.copytree(work / "data", out / "out" / "data")
    if ranks > 1:
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(ranks), *command]
    done = subprocess.run(command, env=environment(), timeout=LIMIT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode != 0:
        sys.exit(f"train_bench: {' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    if not (work / "data").is_dir():
        shutil.copytree(out / "out" / "data", work / "data")
    steps_seen, memory, first = [], 0, None
    for file in sorted((out / "metrics").glob("rank-*.jsonl")):
        for line in file.read_text().splitlines():
            event = json.loads(line)
            if event["event"] == "step" and file.name == "rank-00000.jsonl":
                steps_seen.append(event)
            if event["event"] == "end":
                memory = max(memory, event["peak_memory"])
                first = max(first or 0, event["start_to_first_step_seconds"])
    shutil.rmtree(out)
    timed = [s["seconds"] for s in steps_seen[a.warmup:]] or [steps_seen[-1]["seconds"]]
    return {"seconds": timed, "losses": [s["loss"] for s in steps_seen], "peak_memory": memory,
            "start_to_first_step_seconds": first, "wait_seconds": [s["wait_seconds"] for s in steps_seen[a.warmup:]],
            "tokens_per_step": ranks * MICRO_BATCH * SEQ_LEN}


def run_peer(a, work, strategy, ranks, compiled):
    tokens = sorted((work / "data").rglob("train-*.tokens"))[0]
    command = [str(ROOT / "benchmarks" / "peer_train.py"), "--tokens", str(tokens), "--model", json.dumps(MODEL),
               "--strategy", strategy, "--seq-len", str(SEQ_LEN), "--micro-batch", str(MICRO_BATCH),
               "--warmup", str(a.warmup), "--steps", str(a.steps)] + (["--compile"] if compiled else [])
    python = [str(a.peer / "bin" / "python")]
    if ranks > 1:
        python = [str(a.peer / "bin" / "torchrun"), "--standalone", f"--nproc-per-node={ranks}"]
    done = subprocess.run(python + command, env=dict(environment(), PEER_STARTED=str(time.time())), timeout=LIMIT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        say(f"train_bench: the peer's {strategy} {'compiled' if compiled else 'eager'} failed:\n{done.stderr[-1500:]}")
        return None
    return json.loads(lines[-1])


def summary(runs, ranks, peak, owned_share=None):
    seconds = statistics.median(s for r in runs for s in r["seconds"])
    row = {
        "ranks": ranks,
        "step_seconds": seconds,
        "tokens_per_second": runs[0]["tokens_per_step"] / seconds,
        "flops_per_second_per_rank": step_flops() / seconds,
        "mfu": step_flops() / seconds / peak["bf16_flops_per_second"],
        "peak_memory_per_rank": max(r["peak_memory"] for r in runs),
        "start_to_first_step_seconds": statistics.median(r["start_to_first_step_seconds"] for r in runs),
        "final_loss": runs[0]["losses"][-1],
        "rounds": runs,
    }
    if owned_share is not None:
        row["bound_seconds"] = bound_seconds(peak, owned_share)
        row["share_of_bound"] = row["bound_seconds"] / seconds
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--peer", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=2, help="steps before those that count")
    parser.add_argument("--steps", type=int, default=4, help="steps that count")
    parser.add_argument("--quick", action="store_true", help="one round, compiled peer only")
    parser.add_argument("--text", type=pathlib.Path, help="UTF-8 text (default: the King James text of bible-kjv)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "benchmarks" / "results" / "train.json")
    a = parser.parse_args()
    a.build, a.peer = a.build.resolve(), a.peer.absolute()
    if a.quick:
        a.rounds, a.warmup, a.steps = 1, 1, 2

    work = pathlib.Path(tempfile.mkdtemp(prefix="muster-bench-"))
    try:
        if a.text:
            shutil.copy(a.text, work / "text.txt")
        else:
            with open(work / "text.txt", "wb") as f:
                subprocess.run(["bible", "gen1:1-rev22:21"], stdout=f, check=True, timeout=60)
        measure(a, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def measure(a, work):
    say("preparing the text, and the time to the first step of the tiny model")
    run_ours(a, work, "full_shard", 2, model="tiny", steps=2)
    tiny = run_ours(a, work, "full_shard", 2, model="tiny", steps=2)["start_to_first_step_seconds"]
    ours = {"single": [], "ddp": [], "full_shard": []}
    peer = {}
    peaks = {1: [], 2: []}
    for number in range(a.rounds):
        say(f"round {number + 1} of {a.rounds}")
        for ranks in peaks:
            peaks[ranks].append(measure_node(a.build, ranks))
        for strategy, theirs, ranks in (("single", "single", 1), ("ddp", "ddp", 2), ("full_shard", "fully_shard", 2)):
            ours[strategy].append(run_ours(a, work, "ddp" if strategy == "single" else strategy, ranks))
            say(f"  ours {strategy}: {ours[strategy][-1]['seconds']}")
            for compiled in (True,) if a.quick else (True, False):
                result = run_peer(a, work, theirs, ranks, compiled)
                if result:
                    peer.setdefault((theirs, compiled), []).append(result)
                    say(f"  peer {theirs} {'compiled' if compiled else 'eager'}: {result['seconds']}")

    peak = {}
    for ranks, found in peaks.items():
        peak[ranks] = {k: statistics.median(p[k] for p in found)
                       for k in ("bf16_flops_per_second", "fp32_flops_per_second", "bytes_per_second")}
        peak[ranks]["products"] = {s: statistics.median(p["products"][s] for p in found) for s in found[0]["products"]}
    rows = {}
    for strategy, runs in ours.items():
        ranks = 1 if strategy == "single" else 2
        rows[f"ours {strategy}"] = summary(runs, ranks, peak[ranks], 0.5 if strategy == "full_shard" else 1.0)
    for (strategy, compiled), runs in peer.items():
        ranks = 1 if strategy == "single" else 2
        rows[f"peer {strategy} {'compiled' if compiled else 'eager'}"] = summary(runs, ranks, peak[ranks])

    best = {}
    for strategy in ("single", "ddp", "fully_shard"):
        found = [(n, r) for n, r in rows.items() if n.startswith(f"peer {strategy} ")]
        if found:
            best[strategy] = max(found, key=lambda item: item[1]["tokens_per_second"])
    bars = []

    def bar(name, value, limit, at_least=True):
        if value is None:
            bars.append({"name": name, "value": None, "limit": limit, "outcome": "unknown"})
        else:
            good = value >= limit if at_least else value <= limit
            bars.append({"name": name, "value": value, "limit": limit, "outcome": "pass" if good else "fail"})

    for strategy, theirs, speed, memory in (("single", "single", None, None), ("ddp", "ddp", 1.5, 0.75),
                                            ("full_shard", "fully_shard", 1.6, 0.6)):
        row = rows[f"ours {strategy}"]
        if theirs in best:
            name, other = best[theirs]
            row["peer"] = name
            row["speed_ratio"] = row["tokens_per_second"] / other["tokens_per_second"]
            row["memory_ratio"] = row["peak_memory_per_rank"] / other["peak_memory_per_rank"]
        if speed:
            bar(f"{strategy}: tokens/s over the peer's best {theirs}", row.get("speed_ratio"), speed)
            bar(f"{strategy}: memory over the peer's", row.get("memory_ratio"), memory, at_least=False)
            bar(f"{strategy}: share of the bound", row["share_of_bound"], 0.6)
    bar("full_shard: tokens/s over our ddp",
        rows["ours full_shard"]["tokens_per_second"] / rows["ours ddp"]["tokens_per_second"], 0.9)
    bar("tiny: seconds from start to the first step", tiny, 3.0, at_least=False)

    result = {
        "schema_version": 1,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": versions(a, peer),
        "workload": {"model": "smollm2-135m", "sizes": MODEL, "parameters": parameters(), "seq_len": SEQ_LEN,
                     "micro_batch": MICRO_BATCH, "threads_per_rank": 1, "precision": "bf16 (float32 parameters)",
                     "rounds": a.rounds, "timed_steps": a.steps, "flops_per_step_and_rank": step_flops(),
                     "flops": "6 * parameters * tokens + 6 * batch * layers * heads * head_dim * T^2"},
        "bound": BOUND,
        "peak": {str(ranks): p for ranks, p in peak.items()},
        "rows": rows,
        "tiny_start_to_first_step_seconds": tiny,
        "bars": bars,
        "tokens_per_second": rows["ours full_shard"]["tokens_per_second"],
    }
    record.write(a.out, result)
    print(results.table(result))
    sys.exit(0 if all(b["outcome"] == "pass" for b in bars) else 3)


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.processor())
    flags = next((line.split() for line in open("/proc/cpuinfo") if line.startswith("flags")), [])
    kilobytes = int(next(line.split()[1] for line in open("/proc/meminfo") if line.startswith("MemTotal")))
    return {"processor": model, "processors": os.cpu_count(), "memory_gib": round(kilobytes / 2**20, 1),
            "features": [f for f in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if f in flags],
            "load_before": os.getloadavg()[0]}


def versions(a, peer):
    found = [r["torch"] for runs in peer.values() for r in runs]
    ours = subprocess.run([str(a.build / "bin" / "muster-train"), "--version"], capture_output=True, text=True)
    return {"muster": ours.stdout.strip() or None, "peer_torch": found[0] if found else None,
            "python": platform.python_version()}


if __name__ == "__main__":
    main()
