"""Measures checking of CloudFormation templates: Muster and cfn-lint in turns, on the same files.

Called by benchmarks/cloudformation.sh. Prints a table to stdout and writes the whole result as JSON. The files are all templates of the
project, those that are committed and those that are rendered in it. Every time is that of a whole process, its start and its output
included; each figure is the median of its rounds. Processor time stands beside it, since that does not depend on what else the machine
does.
"""

import argparse
import datetime
import os
import pathlib
import platform
import re
import resource
import statistics
import subprocess
import time

import record

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 600  # seconds for any one run
FOLDERS = ("architectures", "tests/lint/templates")


def templates():
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".yaml", ".yml", ".json", ".template") and "AWSTemplateFormatVersion" in path.read_text():
                found.append(path)
    return found


def timed(command):
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=ROOT, timeout=LIMIT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"cloudformation_bench: {command[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", info)
    return {"processor": model.group(1).strip() if model else platform.processor(), "processors": os.cpu_count(),
            "load_before": os.getloadavg()[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--peer", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "benchmarks/results/cloudformation.json")
    a = parser.parse_args()
    before = machine()
    files = templates()
    if not files:
        raise SystemExit("cloudformation_bench: no templates")
    names = [str(path) for path in files]
    muster, peer = a.build.resolve() / "bin" / "muster", a.peer.resolve() / "bin" / "cfn-lint"
    runs = {"muster validate": [str(muster), "validate", "-q", *names], "cfn-lint": [str(peer), *names]}
    took = {name: [] for name in runs}
    for _ in range(a.rounds):
        for name, command in runs.items():
            took[name].append(timed(command))
    rows = {name: {"seconds": statistics.median(s for s, _ in rounds), "processor_seconds": statistics.median(p for _, p in rounds),
                   "rounds": [s for s, _ in rounds]} for name, rounds in took.items()}
    ours, theirs = rows["muster validate"], rows["cfn-lint"]
    ratio, work = theirs["seconds"] / ours["seconds"], theirs["processor_seconds"] / ours["processor_seconds"]
    bars = [{"name": "all templates: seconds", "value": ours["seconds"], "limit": 1.0, "outcome": "pass" if ours["seconds"] < 1 else "fail"},
            {"name": "times as fast as cfn-lint", "value": ratio, "limit": 20, "outcome": "pass" if ratio >= 20 else "fail"}]
    version = subprocess.run([str(muster), "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    peer_version = subprocess.run([str(peer), "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    record.write(a.out, {
        "schema_version": 1, "date": datetime.date.today().isoformat(), "machine": before,
        "versions": {"muster": version, "cfn-lint": peer_version, "python": platform.python_version()},
        "workload": {"rounds": a.rounds, "templates": len(files), "bytes": sum(path.stat().st_size for path in files)},
        "rows": rows, "speed_ratio": ratio, "processor_ratio": work, "bars": bars})
    for name, row in rows.items():
        print(f"{name:16} {len(files)} templates {row['seconds']:7.3f} s {row['processor_seconds']:7.3f} processor seconds")
    for bar in bars:
        print(f"{bar['outcome']}: {bar['name']} {bar['value']:.2f}, wanted {bar['limit']}")


if __name__ == "__main__":
    main()
