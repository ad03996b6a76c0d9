"""The native collectives beside bare MPI, a real OSU or IMB, in turns.

Called by benchmarks/collectives.sh. Prints a table to stdout and writes the whole result as JSON. The bare loop runs in
the same job (collective_pairs.cpp); OSU's and Intel's programs are jobs of their own, and so is muster-bench beside
them. Ratios are medians of the pairs' ratios.
"""

import argparse
import datetime
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

import record
import results
import train_bench

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 580  # seconds for any one run
SMALL = {"all_reduce": 8, "all_gather": 64, "alltoall": 64, "reduce_scatter": 64, "sendrecv": 8}
MIDDLE = 1 << 20  # as far as OSU's collectives go by themselves
BIG = 4 << 20
LARGE = ("all_reduce", "all_gather", "alltoall", "sendrecv")


def mpirun(a, *command):
    first = ["chrt", "--fifo", "1"] if a.realtime else []
    return [*shlex.split(a.mpirun), "-np", str(a.ranks), *first, *map(str, command)]


def run(command):
    done = subprocess.run(command, timeout=LIMIT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"collectives_bench: {' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr[-3000:]}")
    return done.stdout


def time_of(a, command, bytes_, work):
    """The time of this size that a tool's table holds, microseconds, as `muster bench read` understands it. IMB has a row of 0 bytes before it."""
    log = work / "tool.log"
    log.write_text(run(command))
    read = json.loads(run([str(a.build / "bin" / "muster"), "bench", "read", str(log), "-o", "json"]))
    times = [row["time_us"] for row in read["logs"][0]["records"] if row["size"] == bytes_]
    return times[0] if times else sys.exit(f"collectives_bench: {' '.join(command)} printed no row of {bytes_} bytes:\n{log.read_text()}")


def with_tool(a, name, command, bytes_, work):
    ours = mpirun(a, a.build / "bin" / "muster-bench", "all_reduce", "-b", bytes_, "-e", bytes_, "-n", 1000 if bytes_ <= 8192 else 100,
                  "-w", 200 if bytes_ <= 8192 else 10, "-c", 0)  # OSU's, but for small messages
    pairs = [{"native": time_of(a, ours, bytes_, work), "tool": time_of(a, command, bytes_, work)} for _ in range(a.pairs)]
    return {"tool": name, "operation": "all_reduce", "bytes": bytes_, "native_us": statistics.median(p["native"] for p in pairs),
            "tool_us": statistics.median(p["tool"] for p in pairs),
            "over_tool": statistics.median(p["native"] / p["tool"] for p in pairs), "pairs": pairs}


def tools(a, work):
    """Of OSU and IMB, where they are: all_reduce, small and 1 MiB."""
    rows = []
    for name, variable, program in (("osu", "OMB_DIR", "osu_allreduce"), ("imb", "IMB_DIR", "IMB-MPI1")):
        if not os.environ.get(variable):
            continue
        found = next((f for f in sorted(pathlib.Path(os.environ[variable]).rglob(program)) if os.access(f, os.X_OK) and f.is_file()), None)
        if found is None:
            sys.exit(f"collectives_bench: no {program} in {variable}={os.environ[variable]}")
        for bytes_ in (8, MIDDLE):
            options = ["-m", f"{bytes_}:{bytes_}"] if name == "osu" else \
                ["Allreduce", "-npmin", a.ranks, "-msglog", f"{bytes_.bit_length() - 1}:{bytes_.bit_length() - 1}"]
            rows.append(with_tool(a, name, mpirun(a, found, *options), bytes_, work))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--pairs", type=int, default=21)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mpirun", default="mpirun --allow-run-as-root --bind-to none", help="what starts ranks, with its options")
    parser.add_argument("--realtime", action="store_true", help="ranks before all else on the machine, which this takes from it for a quarter of a minute")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "benchmarks" / "results" / "collectives.json")
    a = parser.parse_args()
    a.build = a.build.resolve()
    machine = train_bench.machine()
    cases = [f"{name}:{bytes_}" for name, bytes_ in SMALL.items()] + [f"{name}:{bytes_}" for bytes_ in (MIDDLE, BIG) for name in LARGE]
    measured = [json.loads(line) for line in run(mpirun(a, a.build / "bin" / "collective_pairs", a.pairs, *cases)).splitlines()]

    rows, bars = [], []
    for one in measured:
        ratio = lambda other: statistics.median(n / o for n, o in zip(one["native_us"], one[other]))
        row = {"operation": one["operation"], "bytes": one["bytes"], "native_us": statistics.median(one["native_us"]),
               "bare_us": statistics.median(one["bare_us"]), "tight_us": statistics.median(one["tight_us"]),
               "over_bare": ratio("bare_us"), "over_tight": ratio("tight_us"), "pairs": one}
        rows.append(row)
        name = f"{one['operation']} of {one['bytes']} bytes"
        if one["bytes"] == MIDDLE and one["operation"] == "all_reduce":
            bars.append((f"{name}: time over the same calls without the harness", row["over_tight"], 1.01, row["over_tight"] <= 1.01))
        if one["bytes"] < MIDDLE:
            bars.append((f"{name}: latency over the bare loop's", row["over_bare"], "0.9 to 1.1", 0.9 <= row["over_bare"] <= 1.1))
        else:
            bars.append((f"{name}: bandwidth over the bare loop's", 1 / row["over_bare"], "0.95 to 1.05",
                         0.95 <= 1 / row["over_bare"] <= 1.05))
    with tempfile.TemporaryDirectory(prefix="muster-collectives-") as work:
        beside = tools(a, pathlib.Path(work))
    for row in beside:
        limit = 0.1 if row["bytes"] <= 8192 else 0.05
        bars.append((f"all_reduce of {row['bytes']} bytes: time over {row['tool']}'s", row["over_tool"], f"{1 - limit} to {1 + limit}",
                     abs(row["over_tool"] - 1) <= limit))
    result = {
        "schema_version": 1,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "machine": machine,
        "workload": {"ranks": a.ranks, "pairs": a.pairs, "realtime": a.realtime},
        "rows": rows,
        "tools": beside,
        "bars": [{"name": name, "value": value, "limit": limit, "outcome": "pass" if good else "fail"} for name, value, limit, good in bars],
    }
    record.write(a.out, result)
    print(results.collectives(result))
    sys.exit(0 if all(bar["outcome"] == "pass" for bar in result["bars"]) else 3)


if __name__ == "__main__":
    main()
