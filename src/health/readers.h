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

/// `chronyc tracking`, `timedatectl` (status, show, timesync-status), `ntpq -p`, `adjtimex
/// --print`.
void read_clocks(const Text& text, const Host& host, CheckResult& check);

/// /proc/meminfo, `free -h`.
void read_memory(const Text& text, const Host& host, CheckResult& check);

/// `df` of space and inodes, /proc/mounts, `mount`, the speed that dd tells.
void read_storage(const Text& text, const Host& host, CheckResult& check);

/// `docker info`, versions of docker, containerd, enroot and NVIDIA's toolkit, daemon.json,
/// config.toml, plugstack.conf.
void read_container_runtime(const Text& text, const Host& host, CheckResult& check);

/// efa_installed_packages, `fi_info --version`, nvidia-smi, `nvcc --version`, lists of libraries
/// and packages: versions against facts/versions.yaml.
void read_versions(const Text& text, const Host& host, CheckResult& check);

/// What PyTorch says of itself on every rank: records of the probe, compared with each other and
/// with what is expected.
void read_pytorch(const Text& text, const Host& host, CheckResult& check);
/// As read_pytorch, of records in several files.
void read_pytorch_files(const std::vector<Text>& texts, const Host& host, CheckResult& check);

}  // namespace muster::health
