"""Expert parallelism: `muster-bench ep`, a bare MPI_Alltoallv of the same bytes, and torch.distributed, in turns.

Called by benchmarks/expert.sh. Prints a table to stdout and writes the whole result as JSON. A pair is one run of ours,
in which each iteration is followed by a bare MPI_Alltoallv, and one measurement of the peer, whose processes sleep
meanwhile; figures are medians of the pairs, ratios medians of the pairs' ratios.
"""

import argparse
import datetime
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

import record
import results
import train_bench

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 300  # seconds for any one run
CASES = {  # name -> (options of ours, of the peer)
    "normal bf16": (["-d", "bf16"], ["--dtype", "bf16"]),
    "normal fp8": (["-d", "fp8"], ["--dtype", "fp8"]),
    "low-latency bf16": (["--low-latency", "-d", "bf16"], ["--dtype", "bf16", "--tokens", "128", "--experts", "288", "--per-expert"]),
}


def run_ours(a, options, work):
    file = work / "ep.json"
    command = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-np", str(a.ranks), str(a.build / "bin" / "muster-bench"),
               "ep", *options, "--against-alltoallv", "-n", str(a.iterations), "-J", str(file)]
    done = subprocess.run(command, timeout=LIMIT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, OMPI_MCA_rmaps_base_oversubscribe="1"))
    if done.returncode != 0:
        sys.exit(f"expert_bench: {' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    rows = json.loads(file.read_text())["logs"][0]["records"]
    pick = {(r["operation"], r["variant"]): r for r in rows}
    own = {r["operation"]: r for r in rows if r["variant"] in ("local", "slots")}
    return {"dispatch_us": own["dispatch"]["time_us"], "combine_us": own["combine"]["time_us"],
            "bare_dispatch_us": pick["alltoallv", "raw:dispatch"]["time_us"],
            "bare_combine_us": pick["alltoallv", "raw:combine"]["time_us"],
            "bytes": own["dispatch"]["size"] + own["combine"]["size"], "rows": own["dispatch"]["count"],
            "wrong": own["dispatch"]["wrong"] + own["combine"]["wrong"]}


class Peer:
    """The ranks of peer_expert.py: they measure when they are asked to."""

    def __init__(self, a, options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.ranks = []
        for rank in range(a.ranks):
            environment = dict(train_bench.environment(), RANK=str(rank), WORLD_SIZE=str(a.ranks), MASTER_ADDR="127.0.0.1",
                               MASTER_PORT=str(port))
            self.ranks.append(subprocess.Popen(
                [str(a.peer / "bin" / "python"), str(ROOT / "benchmarks" / "peer_expert.py"), "--iterations", str(a.iterations), *options],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True))

    def measure(self):
        self.ranks[0].stdin.write("\n")
        self.ranks[0].stdin.flush()
        line = self.ranks[0].stdout.readline()
        if not line:
            sys.exit("expert_bench: the peer ended")
        return json.loads(line)

    def close(self):
        for rank in self.ranks:
            rank.stdin.close()
        for rank in self.ranks:
            try:
                rank.wait(timeout=30)
            except subprocess.TimeoutExpired:
                rank.kill()
                rank.wait()


def measure(a, work, name):
    options, peer_options = CASES[name]
    peer, ours, theirs = Peer(a, peer_options), [], []
    try:
        peer.measure()  # its first pages and connections
        for number in range(a.rounds):
            ours.append(run_ours(a, options, work))
            theirs.append(peer.measure())
            print(f"{name}, pair {number + 1}: ours {ours[-1]['dispatch_us']:.0f} + {ours[-1]['combine_us']:.0f}, "
                  f"bare {ours[-1]['bare_dispatch_us']:.0f} + {ours[-1]['bare_combine_us']:.0f}, peer "
                  f"{theirs[-1]['dispatch_us']:.0f} + {theirs[-1]['combine_us']:.0f} us", file=sys.stderr, flush=True)
    finally:
        peer.close()
    if abs(ours[0]["rows"] - theirs[0]["rows"]) > 1:
        sys.exit(f"expert_bench: not the same exchange: {ours[0]['rows']} rows and the peer's {theirs[0]['rows']}")
    both = lambda run, prefix="": run[f"{prefix}dispatch_us"] + run[f"{prefix}combine_us"]
    middle = lambda values: statistics.median(values)
    return {
        "bytes": ours[0]["bytes"], "rows": ours[0]["rows"], "wrong": sum(run["wrong"] for run in ours),
        "dispatch_us": middle(r["dispatch_us"] for r in ours), "combine_us": middle(r["combine_us"] for r in ours),
        "bare_us": middle(both(r, "bare_") for r in ours), "peer_us": middle(both(r) for r in theirs),
        "over_bare": middle(both(r, "bare_") / both(r) for r in ours),
        "over_peer": middle(both(t) / both(r) for r, t in zip(ours, theirs)),
        "peer_torch": theirs[0]["torch"], "pairs": [{"ours": o, "peer": t} for o, t in zip(ours, theirs)],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--peer", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "benchmarks" / "results" / "expert.json")
    a = parser.parse_args()
    a.build, a.peer = a.build.resolve(), a.peer.absolute()
    machine = train_bench.machine()
    rows, bars = {}, []
    with tempfile.TemporaryDirectory(prefix="muster-expert-") as work:
        for name in CASES:
            rows[name] = measure(a, pathlib.Path(work), name)
            for what, limit in (("over_bare", 0.9), ("over_peer", 1.5)):
                peer = "a bare MPI_Alltoallv" if what == "over_bare" else "torch.distributed"
                bars.append({"name": f"{name}: dispatch + combine over {peer}", "value": rows[name][what], "limit": limit,
                             "outcome": "pass" if rows[name][what] >= limit and rows[name]["wrong"] == 0 else "fail"})
    result = {
        "schema_version": 1,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "machine": machine,
        "versions": {"peer_torch": rows["normal bf16"]["peer_torch"]},
        "workload": {"ranks": a.ranks, "rounds": a.rounds, "iterations": a.iterations,
                     "normal": "4096 tokens, 7168 channels, top-8 of 256 experts", "low_latency": "128 tokens, 7168 channels, top-8 of 288 experts"},
        "rows": rows,
        "bars": bars,
    }
    record.write(a.out, result)
    print(results.expert(result))
    sys.exit(0 if all(bar["outcome"] == "pass" for bar in bars) else 3)


if __name__ == "__main__":
    main()
