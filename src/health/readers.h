// The readers of what tools print about a host, one a check. Each takes the text as it comes in
// real life (prefixes of launchers, colors, CRLF, several outputs one after another, cut off) and
// adds what it sees to the check. A text that says nothing of the check's subject adds an unknown.
// Pure.
#pragma once

#include "health/check.h"
#include "health/host.h"

namespace muster::health {

/// dmesg in all its forms, /dev/kmsg, journalctl -k (short, iso, json), syslog: Xid, SXid and other
/// lines of facts/xid.yaml, of the last boot.
void read_kernel_log(const Text& text, const Host& host, CheckResult& check);

/// `dcgmi diag`: JSON of 3.x and 4.x, also with talk around it, and the table for people.
void read_dcgm(const Text& text, const Host& host, CheckResult& check);

/// `nvidia-smi -q` (text, XML), `--query-gpu … --format=csv`, `-L`, and what it says when it fails.
void read_gpu(const Text& text, const Host& host, CheckResult& check);

/// `nvidia-smi topo -m`, `topo -p2p`, `nvlink -s`, `nvlink -e`.
void read_topology(const Text& text, const Host& host, CheckResult& check);

/// `lspci`, `ibv_devices`, `fi_info`, `rdma statistic`, /opt/amazon/efa_installed_packages.
void read_efa(const Text& text, const Host& host, CheckResult& check);

/// `sinfo` and `scontrol show nodes`: the state of every node of a cluster.
void read_slurm(const Text& text, const Host& host, CheckResult& check);

/// `neuron-ls`, `neuron-monitor`.
void read_neuron(const Text& text, const Host& host, CheckResult& check);

/// What NCCL and NVSHMEM need to use EFA, and whether they did: variables, listings of libraries,
/// versions, messages of the loader, NCCL's log.
void read_fabric(const Text& text, const Host& host, CheckResult& check);

/// `ulimit -a`, /proc/PID/limits.
void read_limits(const Text& text, const Host& host, CheckResult& check);

}  // namespace muster::health
