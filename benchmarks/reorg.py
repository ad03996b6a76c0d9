"""How long `muster reorg` takes on generated repositories: `python3 benchmarks/reorg.py [--copies 40] > benchmarks/results/reorg.json`.

A repository of 1,472 files and 11.6 MB of text, and as many copies of it as asked for, each under a directory of its own; directories
have numbers, texts hold links, URLs and commands as sample repositories do. Timed: `plan` (reads, scans, decides, checks effects),
`apply --branch` (the same, writes all commits and verifies the new tree), `verify` of the result. Medians of three runs; peak memory of the largest process.
Where others use the machine, the processor time says more than the clock: the work takes two threads.
"""

import argparse
import datetime
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import record

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES, BYTES = 1472, 11_600_000
REFERENCES_A_LINE = 0.04  # some 4,000 in all: what the sample repositories hold
PROSE = ["Words that are no reference, as most of a page is: numbers 1. 2.5, names, and/or more of them in a row.",
         "    value_of_something = compute(another, thing) + 17  # a comment that goes on",
         "| a table | with `code`, --options=1 and /usr/bin/env | 3.14 |",
         "srun --container-image=/fsx/image.sqsh --ntasks=16 python3 -u train.py --lr 1e-4"]
PLAN = r"""apiVersion: muster/v1
kind: Reorganisation
name: benchmark
repository: {name: acme/widgets}
rules:
  - {rename: '^\d+[._]\s*', to: ''}
%s"""


def file_paths(rng):
    areas = ["0.docs", "1.architectures", "2.ami_and_containers", "3.test_cases", "4.validation", "micro-benchmarks"]
    paths = []
    for number in range(FILES):
        area = areas[number % len(areas)]
        depth = rng.randint(1, 4)
        parts = [area] + [f"{rng.randint(1, 9)}.part{rng.randint(1, 12)}" for _ in range(depth)]
        name = f"file{number}" + rng.choice([".md", ".md", ".sh", ".yaml", ".py", ".sbatch", ".json"])
        paths.append("/".join(parts + [name]))
    return paths


def text_of(path, paths, rng):
    here = os.path.dirname(path)
    lines = []
    size = 0
    while size < BYTES // FILES:
        target = rng.choice(paths)
        link = os.path.relpath(target, here)
        line = rng.choice(PROSE)
        if rng.random() < REFERENCES_A_LINE:
            line = rng.choice([f"See [this]({link}) for more.", f"bash {target} --option=value", f"`{target}`",
                               f"https://github.com/acme/widgets/blob/main/{target}#L3"])
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines) + "\n"


def make(directory, copies):
    rng = random.Random(1472)
    paths = file_paths(rng)
    texts = {path: text_of(path, paths, rng) for path in paths}
    for copy in range(copies):
        base = pathlib.Path(directory) / (f"copy{copy}" if copies > 1 else ".")
        for path, text in texts.items():
            place = base / path
            place.parent.mkdir(parents=True, exist_ok=True)
            # A line of its own, so that no two copies are the same object.
            place.write_text(text if copies == 1 else f"copy {copy}\n{text}")
    for command in (["init", "-q", "-b", "main"], ["config", "user.name", "a"], ["config", "user.email", "a@b"],
                    ["config", "gc.auto", "0"],  # or git packs behind the back of what is timed
                    ["add", "."],
                    ["commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=directory, check=True)
    return sum(len(text) for text in texts.values()) * copies


def timed(command, cwd):
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{command} failed: {status}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def measure(muster, copies, runs, trees, verbs):
    directory = pathlib.Path(trees) / str(copies)
    if not (directory / ".git" / "made").exists():
        directory.mkdir(parents=True)
        size = make(directory, copies)
        (directory / ".git" / "made").write_text(str(size))
    plan = directory / ".git" / "plan.yaml"
    moves = "" if copies > 1 else "  - {move: 3.test_cases, to: test_cases/training}\n"
    plan.write_text(PLAN % moves)
    row = {"files": FILES * copies, "bytes": int((directory / ".git" / "made").read_text())}
    peak = 0
    for verb in verbs:
        seconds, processor = [], []
        for _ in range(runs):
            if verb == "apply":  # what an earlier run wrote would not be written again
                subprocess.run(["git", "branch", "-qD", "moved"], cwd=directory, stderr=subprocess.DEVNULL, check=False)
                subprocess.run(["git", "prune", "--expire=now"], cwd=directory, check=True)
                for pack in (directory / ".git/objects/pack").glob("pack-*"):  # all that it has
                    pack.unlink()
            command = {"plan": [muster, "reorg", "plan", str(plan)],
                       "apply": [muster, "reorg", "apply", str(plan), "--branch", "moved"],
                       "verify": [muster, "reorg", "verify", "main", "moved"]}[verb]
            took, worked, memory = timed(command, directory)
            seconds.append(took)
            processor.append(worked)
            peak = max(peak, memory)
        row[f"{verb}_seconds"] = round(statistics.median(seconds), 3)
        row[f"{verb}_processor_seconds"] = round(statistics.median(processor), 3)
    row["peak_bytes"] = peak
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--muster", default=str(ROOT / "build/release/bin/muster"))
    parser.add_argument("--trees", help="where the repositories are made, or lie from an earlier run; default: made anew")
    parser.add_argument("--verbs", nargs="+", default=["plan", "apply", "verify"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        trees = options.trees or scratch
        load = os.getloadavg()[0]
        small = measure(options.muster, 1, options.runs, trees, options.verbs)
        large = measure(options.muster, options.copies, 1, trees, options.verbs)
    result = {
        "date": datetime.date.today().isoformat(),
        "processors": os.cpu_count(),
        "load_before": round(load, 1),
        "rows": {"1 repository": small, f"{options.copies} copies": large},
        "bars": [
            {"name": "1,472 files: plan, scan, rewrite, verify", "value": small["apply_seconds"], "limit": "<= 1.0 s",
             "outcome": "pass" if small["apply_seconds"] <= 1.0 else "fail"},
            {"name": f"{FILES * options.copies:,} files: plan, scan, rewrite, verify", "value": large["apply_seconds"], "limit": "<= 15 s",
             "outcome": "pass" if large["apply_seconds"] <= 15 else "fail"},
            {"name": f"{FILES * options.copies:,} files: memory, MB", "value": round(large["peak_bytes"] / 1e6), "limit": "<= 600 MB",
             "outcome": "pass" if large["peak_bytes"] <= 600e6 else "fail"},
        ],
    }
    sys.stdout.write(record.text(result))


if __name__ == "__main__":
    main()
