#include "health/inject.h"

#include <algorithm>

#include "base/words.h"

namespace muster::health {

const std::vector<Fault>& faults() {
  static const std::vector<Fault> kFaults = {
      {"xid-79", "the kernel tells that a GPU fell off the bus", "kernel-log"},
      {"xid-48", "the kernel tells a double-bit error", "kernel-log"},
      {"sxid-fatal", "the kernel tells a fatal error of an NVSwitch", "kernel-log"},
      {"gpu-missing", "nvidia-smi describes one GPU less", "gpu"},
      {"gpu-lost", "nvidia-smi says that a GPU is lost", "gpu"},
      {"ecc-uncorrected", "a GPU counts an uncorrected memory error", "gpu"},
      {"row-remap-failure", "a GPU could not remap a row", "gpu"},
      {"row-remap-pending", "a row of a GPU waits to be remapped", "gpu"},
      {"pcie-width", "a GPU has half of its PCIe lanes", "gpu"},
      {"throttled", "a GPU is slowed by its hardware", "gpu"},
      {"fabric-manager", "the NVLink fabric is not up", "gpu"},
      {"nvlink-down", "a pair of GPUs is not joined by NVLink", "topology"},
      {"efa-missing", "an EFA device is not there", "efa"},
      {"efa-port-down", "the port of an EFA device is down", "efa"},
      {"memlock-low", "a process may lock 64 KiB of memory", "limits"},
      {"memory-missing", "the kernel sees half of the memory", "memory"},
      {"disk-full", "a file system has no space left", "storage"},
      {"root-read-only", "the root file system is mounted read-only", "storage"},
      {"clock-off", "the clock is five minutes off", "clocks"},
      {"driver-hangs", "nvidia-smi does not come back", "gpu"},
  };
  return kFaults;
}

const Fault* find_fault(std::string_view name) {
  for (const Fault& fault : faults()) {
    if (name == fault.name) return &fault;
  }
  return nullptr;
}

std::string InjectedView::with(std::string text, std::string_view from, std::string_view to) const {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return text;
  planted_ = true;
  return text.replace(at, from.size(), to);
}

Result<std::string> InjectedView::file(const std::filesystem::path& path) const {
  auto text = host_.file(path);
  if (!text) return text;
  const std::string where = path.string();
  if (is("efa-port-down") && !planted_ && where.starts_with("/sys/class/infiniband/") &&
      path.filename() == "state") {
    return with(*text, "ACTIVE", "DOWN");
  }
  if (is("root-read-only") && where == "/proc/mounts")
    return with(*text, " / ext4 rw", " / ext4 ro");
  if (is("memory-missing") && where == "/proc/meminfo") {
    const std::size_t at = text->find("MemTotal:");
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const auto words = words_of(std::string_view(*text).substr(std::min(at, end), end - at));
    const auto total = words.size() > 1 ? whole(words[1]) : std::nullopt;
    if (total) {
      planted_ = true;
      return text->replace(at, end - at, "MemTotal: " + std::to_string(*total / 2) + " kB");
    }
  }
  if (is("memlock-low") && where == "/proc/self/limits") {
    const std::size_t at = text->find("Max locked memory");
    if (at != std::string::npos) {
      const std::size_t end = std::min(text->find('\n', at), text->size());
      planted_ = true;
      return text->replace(at, end - at, "Max locked memory  65536  65536  bytes");
    }
  }
  return text;
}

Result<std::vector<std::string>> InjectedView::list(const std::filesystem::path& path) const {
  auto names = host_.list(path);
  if (names && is("efa-missing") && path == "/sys/class/infiniband" && !names->empty()) {
    names->pop_back();
    planted_ = true;
  }
  return names;
}

Result<ProcessResult> InjectedView::run(const std::vector<std::string>& argv,
                                        std::chrono::milliseconds limit) const {
  auto result = host_.run(argv, limit);
  if (!result) return result;
  std::string& out = result->out;
  if (argv.front() == "dmesg") {
    const char* line = is("xid-79")   ? "NVRM: Xid (PCI:0000:53:00): 79, pid=0, planted"
                       : is("xid-48") ? "NVRM: Xid (PCI:0000:53:00): 48, pid=0, planted"
                       : is("sxid-fatal")
                           ? "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, planted"
                           : nullptr;
    if (line != nullptr) {
      if (!out.empty() && out.back() != '\n') out += '\n';
      out += std::string("[999999.000000] ") + line + "\n";
      planted_ = true;
    }
  }
  if (argv.front() == "df" && is("disk-full") && out.find('%') != std::string::npos) {
    out += "/dev/planted 1000 1000 0 100% /planted\n";
    planted_ = true;
  }
  if (is("clock-off")) {
    // Whoever keeps the clock: the one that is asked first.
    if (argv.front() == "chronyc" || argv.front() == "timedatectl" || argv.front() == "ntpq" ||
        argv.front() == "adjtimex") {
      out = "System time     : 300.000000000 seconds slow of NTP time\nLeap status     : Normal\n";
      result->exit_code = 0;
      planted_ = true;
    }
  }
  const bool library = argv.front() == "nvml";
  if (argv.front() != "nvidia-smi" && !library) return result;
  if (argv.size() > 1 && argv[1] == "topo" && is("nvlink-down")) {
    // The first cell that is an NVLink.
    const std::size_t at = out.find("NV1");
    if (at != std::string::npos) {
      const std::size_t end = std::min(out.find_first_of(" \t\n", at), out.size());
      out.replace(at, end - at, "SYS");
      planted_ = true;
    }
  }
  if (!library && (argv.size() < 2 || argv[1] != "-q")) return result;
  if (is("gpu-missing")) {
    const std::size_t at = out.find("<gpu id="), end = out.find("</gpu>");
    if (at != std::string::npos && end != std::string::npos) {
      out.erase(at, end + 6 - at);
      planted_ = true;
    }
  } else if (is("gpu-lost")) {
    out =
        "Unable to determine the device handle for GPU 0000:53:00.0: GPU is lost.  Reboot the "
        "system to recover this GPU\n";
    result->exit_code = 15;
    planted_ = true;
  } else if (is("driver-hangs")) {
    planted_ = true;
    if (library) return failure("nvml-timeout", "NVML did not answer within its limit (planted)");
    result->timed_out = true;
  } else if (is("ecc-uncorrected")) {
    out = with(out, "<dram_uncorrectable>0<", "<dram_uncorrectable>1<");
  } else if (is("row-remap-failure")) {
    out = with(out, "<remapped_row_failure>No<", "<remapped_row_failure>Yes<");
  } else if (is("row-remap-pending")) {
    out = with(out, "<remapped_row_pending>No<", "<remapped_row_pending>Yes<");
  } else if (is("pcie-width")) {
    out = with(out, "<current_link_width>16x<", "<current_link_width>8x<");
  } else if (is("throttled")) {
    out = with(out, "_hw_slowdown>Not Active<", "_hw_slowdown>Active<");
  } else if (is("fabric-manager")) {
    out = with(out, "<state>Completed<", "<state>In Progress<");
  }
  return result;
}

}  // namespace muster::health
