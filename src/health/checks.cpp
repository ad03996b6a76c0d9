#include "health/checks.h"

#include <algorithm>

#include "health/look.h"
#include "health/readers.h"

namespace muster::health {

const std::vector<CheckKind>& check_kinds() {
  static const std::vector<CheckKind> kKinds = {
      {"gpu", "GPUs: how many, memory errors, remapped rows, PCIe, temperature, throttling",
       "nvidia-smi -q (text, XML), --query-gpu … --format=csv, -L", true, read_gpu, look_at_gpu},
      {"kernel-log", "Xid, SXid and other errors in the kernel's log of this boot",
       "dmesg, /dev/kmsg, journalctl -k, syslog", false, read_kernel_log, look_at_kernel_log},
      {"dcgm", "DCGM's diagnostics", "dcgmi diag (JSON of 3.x and 4.x, table)", true, read_dcgm,
       look_at_dcgm},
      {"efa", "EFA devices: how many, ports, drivers, errors",
       "lspci, ibv_devices, fi_info, rdma statistic, efa_installed_packages", true, read_efa,
       look_at_efa},
      {"fabric", "What NCCL and NVSHMEM need to use EFA: plugin, versions, paths, what they chose",
       "env, listings of libraries, fi_info --version, messages of the loader, NCCL's log", true,
       read_fabric, look_at_fabric},
      {"topology", "How GPUs are joined: NVLink, its errors, access between peers",
       "nvidia-smi topo -m, topo -p2p, nvlink -s, nvlink -e", true, read_topology,
       look_at_topology},
      {"neuron", "Neuron devices: how many, memory errors", "neuron-ls, neuron-monitor", true,
       read_neuron, look_at_neuron},
      {"slurm", "The state of every node of a Slurm cluster", "sinfo, scontrol show nodes", false,
       read_slurm, look_at_slurm},
      {"limits", "Locked memory and open files that a process may have",
       "ulimit -a, /proc/PID/limits", false, read_limits, look_at_limits},
      {"memory", "Memory: as much as the instance type has, available, swap, huge pages",
       "/proc/meminfo, free -h", false, read_memory, look_at_memory},
      {"storage", "File systems: how full, mounted and writable, where containers are kept, speed",
       "df, df -i, /proc/mounts, mount, dd", false, read_storage, look_at_storage},
      {"clocks", "The clock: followed by whom, how far off",
       "chronyc tracking, timedatectl, ntpq -p, adjtimex --print", false, read_clocks,
       look_at_clocks},
      {"container-runtime", "docker, containerd, enroot, pyxis and NVIDIA's toolkit fit together",
       "docker info, --version of each, daemon.json, config.toml, plugstack.conf", false,
       read_container_runtime, look_at_container_runtime},
      {"versions", "Driver, EFA, libfabric, plugin, NCCL, CUDA: floors, and what goes together",
       "efa_installed_packages, fi_info --version, nvidia-smi, nvcc --version, dpkg -l", true,
       read_versions, look_at_versions},
      {"pytorch", "What PyTorch says of itself, the same on every rank and as expected",
       "records of pytorch-env-validation/probe.py, also behind prefixes of srun", false,
       read_pytorch, look_at_pytorch, read_pytorch_files},
  };
  return kKinds;
}

const std::vector<Suite>& suites() {
  static const std::vector<Suite> kSuites = {
      {"prolog",
       "Seconds; before a job",
       {"gpu", "kernel-log", "efa", "neuron", "limits", "memory", "storage"}},
      {"lightweight",
       "Minutes; on a node without jobs",
       {"gpu", "kernel-log", "dcgm", "efa", "fabric", "topology", "neuron", "limits", "memory",
        "storage", "clocks", "container-runtime", "versions"}},
      {"intensive",
       "Hours; on a drained node",
       {"gpu", "kernel-log", "dcgm", "efa", "fabric", "topology", "neuron", "limits", "memory",
        "storage", "clocks", "container-runtime", "versions"}},
  };
  return kSuites;
}

const CheckKind* find_check(std::string_view name) {
  for (const CheckKind& kind : check_kinds()) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

const Suite* find_suite(std::string_view name) {
  for (const Suite& suite : suites()) {
    if (name == suite.name) return &suite;
  }
  return nullptr;
}

bool shows_nothing(const std::vector<CheckResult>& checks, const Host& host) {
  if (host.instance) return false;
  bool any = false;
  for (const CheckResult& check : checks) {
    const CheckKind* kind = find_check(check.name());
    if (kind == nullptr || !kind->hardware) continue;
    any = true;
    if (check.health() != Health::kNotApplicable) return false;
  }
  return any;
}

}  // namespace muster::health
