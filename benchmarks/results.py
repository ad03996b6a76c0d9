"""docs/results.md from the JSON of the benchmarks in results/: `python3 benchmarks/results.py [train.json] > docs/results.md`."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def table(result):
    lines = ["| run | ranks | tokens/s | ratio to the peer | GFLOP/s a rank | MFU | share of the bound | peak memory a rank | start to first step |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    number = lambda value, form: "" if value is None else form.format(value)
    for name, row in result["rows"].items():
        lines.append("| {} | {} | {:.0f} | {} | {:.0f} | {:.1%} | {} | {:.2f} GB | {:.1f} s |".format(
            name, row["ranks"], row["tokens_per_second"], number(row.get("speed_ratio"), "{:.2f}×"),
            row["flops_per_second_per_rank"] / 1e9, row["mfu"], number(row.get("share_of_bound"), "{:.0%}"),
            row["peak_memory_per_rank"] / 1e9, row["start_to_first_step_seconds"]))
    lines += ["", "| bar | measured | wanted | |", "|---|---:|---:|---|"]
    for bar in result["bars"]:
        lines.append("| {} | {} | {} | {} |".format(bar["name"], number(bar["value"], "{:.2f}"), bar["limit"], bar["outcome"]))
    return "\n".join(lines)


def page(result):
    machine, work, peak = result["machine"], result["workload"], result["peak"]
    rates = ", ".join("{} process{}: bf16 {:.0f}, fp32 {:.0f} GFLOP/s, memory {:.1f} GB/s".format(
        ranks, "" if ranks == "1" else "es, each", p["bf16_flops_per_second"] / 1e9, p["fp32_flops_per_second"] / 1e9,
        p["bytes_per_second"] / 1e9) for ranks, p in peak.items())
    return f"""---
title: Measured results
---

<!-- Made by benchmarks/results.py from the JSON of benchmarks/train.sh: do not edit. -->

# Training, side by side with PyTorch

Measured on {result['date']} by `benchmarks/train.sh`: {machine['processor']}, {machine['processors']} processors,
{machine['memory_gib']} GiB, {', '.join(machine['features'])}; PyTorch {result['versions']['peer_torch']}.

{work['model']} ({work['parameters']:,} parameters), sequences of {work['seq_len']}, {work['micro_batch']} a rank, {work['precision']},
{work['threads_per_rank']} thread a rank. Ours and the peer's runs alternate, {work['rounds']} rounds of {work['timed_steps']} timed steps; medians. The peer is
the faster of its eager and compiled forms.

{table(result)}

The node's measured peak: {rates}.

FLOPs of a step: `{work['flops']}`. The bound: {result['bound']}
"""


def kubernetes(result):
    """The section on checking Kubernetes objects."""
    machine, work = result["machine"], result["workload"]
    lines = ["| run | objects | seconds | objects/s | objects per processor second | MB/s | ratio to the peer |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for name, row in result["rows"].items():
        ratio = f"{row['speed_ratio']:.1f}×" if "speed_ratio" in row else ""
        lines.append(f"| {name} | {row['objects']} | {row['seconds']:.2f} | {row['objects_per_second']:.0f} "
                     f"| {row['objects_per_processor_second']:.0f} | {row['bytes_per_second'] / 1e6:.1f} | {ratio} |")
    lines += ["", "| bar | measured | wanted | |", "|---|---:|---:|---|"]
    for bar in result["bars"]:
        lines.append(f"| {bar['name']} | {bar['value']:.2f} | {bar['limit']} | {bar['outcome']} |")
    body = "\n".join(lines)
    return f"""
# Checking Kubernetes objects, side by side with kubeconform

Measured on {result['date']} by `benchmarks/kubernetes.sh`: {machine['processor']}, {machine['processors']} processors, load
{machine['load_before']:.1f} before it; kubeconform {result['versions']['kubeconform']} with the schemas of Kubernetes
{result['versions']['schemas']}, {work['threads']} threads each; medians of {work['rounds']} rounds in turns. The peer knows the core kinds
only; times are those of whole processes.

{body}
"""


def cloudformation(result):
    """The section on checking CloudFormation templates."""
    machine, work = result["machine"], result["workload"]
    lines = ["| run | seconds | processor seconds |", "|---|---:|---:|"]
    lines += [f"| {name} | {row['seconds']:.3f} | {row['processor_seconds']:.3f} |" for name, row in result["rows"].items()]
    body = "\n".join(lines + bar_table(result["bars"]))
    return f"""
# Checking CloudFormation templates, side by side with cfn-lint

Measured on {result['date']} by `benchmarks/cloudformation.sh`: {machine['processor']}, {machine['processors']} processors, load
{machine['load_before']:.1f} before it; cfn-lint {result['versions']['cfn-lint']}, Python {result['versions']['python']}. The project's
{work['templates']} templates, {work['bytes'] / 1000:.0f} kB in all; medians of {work['rounds']} rounds in turns, times of whole processes.
By processor time the ratio is {result['processor_ratio']:.0f}.

{body}
"""


def bar_table(bars):
    lines = ["", "| bar | measured | wanted | |", "|---|---:|---:|---|"]
    return lines + [f"| {bar['name']} | {bar['value']:.3g} | {bar['limit']} | {bar['outcome']} |" for bar in bars]


def exporter(result):
    """The section on the exporter."""
    machine, work = result["machine"], result["workload"]
    lines = ["| program | samples | bytes, gzip | p50 | p99 | processor time a scrape | resident |", "|---|---:|---:|---:|---:|---:|---:|"]
    for name, row in result["rows"].items():
        lines.append(f"| {name} | {row['samples']} | {row['bytes']} | {row['p50_ms']:.2f} ms | {row['p99_ms']:.2f} ms "
                     f"| {row['processor_ms']:.2f} ms | {row['resident_bytes'] / 1e6:.1f} MB |")
    body = "\n".join(lines + bar_table(result["bars"]))
    return f"""
# Scrapes, side by side with node_exporter

Measured on {result['date']} by `benchmarks/exporter.sh`: {machine['processor']}, {machine['processors']} processors, load
{machine['load_before']:.1f} before it; {work['devices']} EFA devices in a faked /sys, {work['scrapes']} scrapes of each in turns, gzip.
node_exporter {result['versions']['node_exporter']} runs its infiniband collector alone, which reads none of EFA's own counters.

{body}
"""


def collectives(result):
    """The section on collectives."""
    machine, work = result["machine"], result["workload"]
    lines = ["| operation | bytes | native | bare loop, OSU's method | bare calls back to back | native over bare | native over back to back |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for row in result["rows"]:
        lines.append(f"| {row['operation']} | {row['bytes']} | {row['native_us']:.2f} us | {row['bare_us']:.2f} us | {row['tight_us']:.2f} us "
                     f"| {row['over_bare']:.3f} | {row['over_tight']:.3f} |")
    lines += [f"| {row['operation']}, beside {row['tool']} | {row['bytes']} | {row['native_us']:.2f} us | {row['tool_us']:.2f} us | "
              f"| {row['over_tool']:.3f} | |" for row in result["tools"]]
    body = "\n".join(lines + bar_table(result["bars"]))
    return f"""
# Collectives, side by side with bare MPI

Measured on {result['date']} by `benchmarks/collectives.sh`: {machine['processor']}, {machine['processors']} processors, load
{machine['load_before']:.1f} before it; {work['ranks']} ranks on one node. Medians of {work['pairs']} pairs in turns within one job, each
the best of a few short windows a side. The bare loop times each call
by itself, with a barrier after it, as OSU's micro-benchmarks do, less what its clock takes; the native runner times calls back to back, as nccl-tests do.
Both have buffers of their own, which they take anew for each window{'; the ranks went before all else on the machine (SCHED_FIFO)' if work.get('realtime') else ''}.

{body}
"""


def expert(result):
    """The section on expert parallelism."""
    machine, work = result["machine"], result["workload"]
    lines = ["| exchange | bytes a rank, both ways | dispatch | combine | bare MPI_Alltoallv, both | torch.distributed, both | over bare | over torch |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for name, row in result["rows"].items():
        lines.append(f"| {name} | {row['bytes'] / 1e6:.1f} MB | {row['dispatch_us'] / 1e3:.2f} ms | {row['combine_us'] / 1e3:.2f} ms "
                     f"| {row['bare_us'] / 1e3:.2f} ms | {row['peer_us'] / 1e3:.2f} ms | {row['over_bare']:.2f}× | {row['over_peer']:.1f}× |")
    body = "\n".join(lines + bar_table(result["bars"]))
    return f"""
# Expert parallelism, side by side with MPI_Alltoallv and torch.distributed

Measured on {result['date']} by `benchmarks/expert.sh`: {machine['processor']}, {machine['processors']} processors, load
{machine['load_before']:.1f} before it; {work['ranks']} ranks on one node; PyTorch {result['versions']['peer_torch']} on gloo, one thread a rank.
Normal: {work['normal']}; low-latency: {work['low_latency']}. Medians of {work['rounds']} pairs in turns, {work['iterations']} iterations each;
every byte and sum was checked. Ours goes through memory that the ranks of a node share; a bare `MPI_Alltoallv` moves rows that lie packed already.

{body}
"""


def hunt(result):
    """The section on hunts for what is slow."""
    share = lambda value: f"{value:.1%}" if value not in (0, 1) else ("all" if value else "none")
    lines = ["| nodes | noise | slow node, log2(n) + 1 rounds | slow pair, n - 1 rounds | slow pair, one all-to-all and a round | false alarms, n - 1 rounds | false alarms, all-to-all |",
             "|---:|---:|---:|---:|---:|---:|---:|"]
    for row in result["rows"]:
        lines.append("| {} | {:.0%} | {} | {} | {} | {} | {} |".format(row["nodes"], row["sigma"], *(share(row[key]) for key in (
            "slow_node_in_log2_rounds", "slow_pair_in_all_rounds", "slow_pair_by_all_to_all", "false_alarms_in_all_rounds",
            "false_alarms_by_all_to_all"))))
    body = "\n".join(lines)
    return f"""
# Hunts on simulated clusters

`hunt_rates` ({result['rows'][0]['runs']:,} runs a figure): something is {result['drop']:.0%} slower than the rest, and each measurement has log-normal
noise. Named is only what was planted; of a pair each round holds one measurement. False alarms are of clusters in which nothing is slow.

{body}
"""


def load(result):
    """The section on load generators."""
    machine, work = result["machine"], result["workload"]
    lines = ["| generator | tokens/s | first token, 50 % | 99 % | between tokens, 50 % | 99 % | the stub was late, 99 % | processor seconds, with the stub's | stolen |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for name, row in result["rows"].items():
        lines.append(f"| {name} | {row['tokens_per_second']:.0f} | {row['ttft_p50']:.2f} ms | {row['ttft_p99']:.2f} ms | {row['gap_p50']:.2f} ms "
                     f"| {row['gap_p99']:.2f} ms | {row['stub_late_p99']:.2f} ms | {row['processor_seconds']:.1f} | {row['stolen_share']:.1%} |")
    body = "\n".join(lines + bar_table(result["bars"]))
    return f"""
# Load generators against known times

Measured on {result['date']} by `benchmarks/load.sh`: {machine['processor']}, {machine['processors']} processors, load
{machine['load_before']:.1f} before it; AIPerf {result['versions']['aiperf']}. {work['users']} users, {work['requests']} answers of {work['tokens']} tokens; the server sends the first
after {work['ttft_ms']} ms and one more every {work['gap_ms']} ms, so those are the true figures. Medians of {work['rounds']} runs each, in turns; generator and server share the machine.

{body}
"""


def reorganisation(result):
    lines = ["", "# Reorganising a repository", "",
             f"Measured on {result['date']} by `benchmarks/reorg.py` on generated repositories, {result['processors']} processors, load average "
             f"{result['load_before']} before.", "",
             "Processor seconds, of all threads, are in brackets: on a busy machine they are what can be compared.", "",
             "| tree | files | text | plan | apply, all commits | verify | peak memory |", "|---|---:|---:|---:|---:|---:|---:|"]
    for name, row in result["rows"].items():
        times = " | ".join("{:.2f} s ({:.2f})".format(row[f"{verb}_seconds"], row[f"{verb}_processor_seconds"])
                           if f"{verb}_seconds" in row else "" for verb in ("plan", "apply", "verify"))
        lines.append("| {} | {:,} | {:.1f} MB | {} | {:.0f} MB |".format(name, row["files"], row["bytes"] / 1e6, times, row["peak_bytes"] / 1e6))
    lines += ["", "| bar | measured | wanted | |", "|---|---:|---:|---|"]
    lines += ["| {} | {} | {} | {} |".format(bar["name"], bar["value"], bar["limit"], bar["outcome"]) for bar in result["bars"]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results" / "train.json"
    sys.stdout.write(page(json.loads(source.read_text())))
    objects = source.parent / "kubernetes.json"
    if objects.exists():
        sys.stdout.write(kubernetes(json.loads(objects.read_text())))
    for name, section in (("cloudformation", cloudformation), ("collectives", collectives), ("expert", expert), ("hunt", hunt),
                          ("exporter", exporter)):
        file = source.parent / f"{name}.json"
        if file.exists():
            sys.stdout.write(section(json.loads(file.read_text())))
    reorg = HERE / "results" / "reorg.json"
    if reorg.exists():
        sys.stdout.write(reorganisation(json.loads(reorg.read_text())))
