"""Load generators: `muster load` and AIPerf against a stub that answers at known times, in turns.

Called by benchmarks/load.sh. The first answer of each user warms up and does not count. The stub sends the first
token of an answer after TTFT ms and one more every GAP ms, and says how late
it was itself. The error of a tool is what its 99th percentile says less what is true. Prints a table to stdout and writes the
whole result as JSON; figures are medians of the runs.
"""

import argparse
import datetime
import json
import os
import pathlib
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile

import record
import results
import train_bench

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 300  # seconds for any one run
TTFT, GAP, TOKENS, USERS = 100, 5, 200, 128
MODEL = f"ttft={TTFT} gap={GAP}"


def stolen():
    fields = [int(word) for word in open("/proc/stat").readline().split()[1:9]]
    return fields[7], sum(fields)


def beside_stub(a, work, command):
    """Runs the command beside the stub: processor seconds of both, share of stolen time, the stub's own lateness."""
    report = work / "stub.json"
    before, used = stolen(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(a.build / "bin" / "load_stub"), "sh", "-c", command], timeout=LIMIT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, cwd=work, env=dict(os.environ, STUB_REPORT=str(report)))
    after, spent = stolen(), resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"load_bench: {command} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return {"processor_seconds": spent.ru_utime + spent.ru_stime - used.ru_utime - used.ru_stime,
            "stolen_share": (after[0] - before[0]) / max(1, after[1] - before[1]), "stub": json.loads(report.read_text())}


def run_ours(a, work):
    file = work / "ours.json"
    file.unlink(missing_ok=True)
    seen = beside_stub(a, work, f"{shlex.quote(str(a.build / 'bin' / 'muster'))} load $STUB --model '{MODEL}' --concurrency {USERS} "
                                f"--output {TOKENS} --input 8 --requests {a.requests + USERS} --warm-up 1s --duration 120s --lag 1s --out {file}")
    level = json.loads(file.read_text())["levels"][0]
    return dict(seen, tokens_per_second=level["output_tokens_per_second"], ttft_p50=level["ttft_ms"]["p50"],
                ttft_p99=level["ttft_ms"]["p99"], gap_p50=level["itl_ms"]["p50"], gap_p99=level["itl_ms"]["p99"],
                generator_seconds=level["generator"]["cpu_seconds"], complete=level["complete"])


def run_peer(a, work):
    art = work / "aiperf"
    seen = beside_stub(a, work, f"{shlex.quote(str(a.peer / 'bin' / 'aiperf'))} profile -m '{MODEL}' -u $STUB --endpoint-type chat "
                                f"--streaming --tokenizer {work / 'tokenizer'} --input-file {work / 'prompts.jsonl'} "
                                f"--custom-dataset-type single_turn --osl {TOKENS} --use-legacy-max-tokens --use-server-token-count "
                                f"--concurrency {USERS} --request-count {a.requests} --warmup-request-count {USERS} --ui none --artifact-dir {art}")
    found = json.loads((art / "profile_export_aiperf.json").read_text())
    return dict(seen, tokens_per_second=found["output_token_throughput"]["avg"], ttft_p50=found["time_to_first_token"]["p50"],
                ttft_p99=found["time_to_first_token"]["p99"], gap_p50=found["inter_chunk_latency"]["p50"],
                gap_p99=found["inter_chunk_latency"]["p99"], complete=int(found["request_count"]["avg"]))


def prepare_peer(a, work):
    """AIPerf wants a tokenizer, which it can't download here: one of four words does, since the server counts."""
    subprocess.run([str(a.peer / "bin" / "python"), "-c", """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["word", "[UNK]", "the", "of"])}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]").save_pretrained(sys.argv[1])
""", str(work / "tokenizer")], check=True, timeout=LIMIT, capture_output=True)
    (work / "prompts.jsonl").write_text('{"text": "the of the of the of the of"}\n' * 64)


def row(runs):
    middle = lambda key: statistics.median(run[key] for run in runs)
    figures = {key: middle(key) for key in ("tokens_per_second", "ttft_p50", "ttft_p99", "gap_p50", "gap_p99", "processor_seconds",
                                            "stolen_share")}
    figures["ttft_error_p99"] = statistics.median(abs(run["ttft_p99"] - TTFT) for run in runs)
    figures["gap_error_p99"] = statistics.median(abs(run["gap_p99"] - GAP) for run in runs)
    figures["stub_late_p99"] = statistics.median(run["stub"]["late_p99_ms"] for run in runs)
    return dict(figures, runs=runs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--peer", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=1280)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "benchmarks" / "results" / "load.json")
    a = parser.parse_args()
    a.build, a.peer = a.build.resolve(), a.peer.absolute()
    machine, ours, theirs = train_bench.machine(), [], []
    with tempfile.TemporaryDirectory(prefix="muster-load-") as folder:
        work = pathlib.Path(folder)
        prepare_peer(a, work)
        for number in range(a.rounds):
            ours.append(run_ours(a, work))
            theirs.append(run_peer(a, work))
            print("pair {}: ours {:.0f} tokens/s, ttft {:.2f}, gap {:.2f} ms at 99 %; peer {:.0f}, {:.2f}, {:.2f}; stub late {:.2f}, {:.2f}".format(
                number + 1, *(run[key] for run in (ours[-1], theirs[-1]) for key in ("tokens_per_second", "ttft_p99", "gap_p99")),
                ours[-1]["stub"]["late_p99_ms"], theirs[-1]["stub"]["late_p99_ms"]), file=sys.stderr, flush=True)
    rows = {"muster load": row(ours), "AIPerf": row(theirs)}
    mine = rows["muster load"]
    share = statistics.median(run["generator_seconds"] / (a.requests * TOKENS) * 20000 for run in ours)
    bars = [{"name": "streamed tokens/s", "value": mine["tokens_per_second"], "limit": "at least 20000",
             "outcome": "pass" if mine["tokens_per_second"] >= 20000 else "fail"},
            {"name": "share of a processor for 20,000 tokens/s", "value": share, "limit": "at most 1", "outcome": "pass" if share <= 1 else "fail"},
            {"name": "error of the time to first token at the 99th percentile, ms", "value": mine["ttft_error_p99"], "limit": "at most 1",
             "outcome": "pass" if mine["ttft_error_p99"] <= 1 else "fail"},
            {"name": "error of the time between tokens at the 99th percentile, ms", "value": mine["gap_error_p99"], "limit": "at most 1",
             "outcome": "pass" if mine["gap_error_p99"] <= 1 else "fail"}]
    result = {"schema_version": 1, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "machine": machine,
              "versions": {"aiperf": subprocess.run([str(a.peer / "bin" / "python"), "-c",
                                                     "import importlib.metadata as m; print(m.version('aiperf'))"],
                                                    capture_output=True, text=True, timeout=60).stdout.strip()},
              "workload": {"users": USERS, "tokens": TOKENS, "ttft_ms": TTFT, "gap_ms": GAP, "requests": a.requests, "rounds": a.rounds},
              "rows": rows, "bars": bars}
    record.write(a.out, result)
    print(results.load(result))
    sys.exit(0 if all(bar["outcome"] == "pass" for bar in bars) else 3)


if __name__ == "__main__":
    main()
