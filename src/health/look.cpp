#include "health/look.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "base/words.h"
#include "health/readers.h"

namespace muster::health {
namespace {

using std::chrono::milliseconds;
using Argv = std::vector<std::string>;
using Read = void (*)(const Text&, const Host&, CheckResult&);

// Eight GPUs answer within a tenth of a second; without persistence mode the driver starts first.
constexpr milliseconds kNvmlLimit{20000};

std::string joined(const Argv& argv) {
  return fmt::format("{}", fmt::join(argv, " "));
}

/// For hardware whose tool is not there: not applicable only where the host shows that it has none.
void without_tool(const char* what, const Argv& tool, std::optional<int> devices,
                  std::optional<int> expected, CheckResult& check) {
  if (expected.value_or(0) > 0) {
    const bool gone = devices == 0;
    check.add(gone ? Health::kReplace : Health::kError, "no-tool", {},
              fmt::format("{} {} expected, {}; {} is not there", *expected, what,
                          !devices ? std::string("the host does not show its devices")
                                   : fmt::format("{} on the PCI bus", *devices),
                          joined(tool)));
  } else if (!devices && !expected) {
    check.add(Health::kUnknown, "no-tool", {},
              fmt::format("{} is not there, and the host does not show its devices", joined(tool)));
  } else if (devices.value_or(0) > 0) {
    check.add(
        Health::kError, "no-tool", {},
        fmt::format("{} {} on the PCI bus, and {} is not there", *devices, what, joined(tool)));
  } else {
    check.add(Health::kNotApplicable, "none", {}, fmt::format("no {} on this host", what));
  }
}

void look_with_nvidia_smi(const HostView& view, const Host& host, CheckResult& check,
                          const std::vector<Argv>& commands, Read read) {
  bool any = false;
  for (const Argv& argv : commands)
    any |= read_command(view, argv, kCommandLimit, read, host, check);
  if (!any)
    without_tool("GPUs", commands.front(), nvidia_devices(view), host.accelerators("gpu"), check);
}

}  // namespace

std::optional<int> pci_devices(const HostView& view, std::string_view vendor, std::string_view kind,
                               std::string_view device) {
  const std::filesystem::path devices = "/sys/bus/pci/devices";
  const auto names = view.list(devices);
  if (!names) return std::nullopt;
  int count = 0;
  for (const std::string& name : *names) {
    const auto made_by = view.file(devices / name / "vendor");
    const auto is_a = view.file(devices / name / "class");
    const auto model = view.file(devices / name / "device");
    if (made_by && trimmed(first_line(*made_by)) == vendor &&
        (kind.empty() || (is_a && trimmed(*is_a).starts_with(kind))) &&
        (device.empty() || (model && trimmed(*model).starts_with(device)))) {
      ++count;
    }
  }
  return count;
}

bool read_command(const HostView& view, const std::vector<std::string>& argv, milliseconds limit,
                  void (*read)(const Text&, const Host&, CheckResult&), const Host& host,
                  CheckResult& check) {
  const auto result = view.run(argv, limit);
  if (!result) {
    if (result.findings().front().rule == "no-command") return false;
    check.add(Health::kError, "command", joined(argv), result.findings().front().message);
    return true;
  }
  if (result->timed_out) {
    check.add(Health::kReset, "command-hangs", joined(argv),
              fmt::format("does not end within {} s", limit.count() / 1000));
    return true;
  }
  if (result->truncated) {
    check.add(Health::kError, "command", joined(argv), "prints more than can be kept");
  }
  const std::size_t before = check.observations().size();
  read({joined(argv), result->out + result->err}, host, check);
  // An exit code that its output does not explain must not pass.
  const auto& seen = check.observations();
  const bool explained =
      std::any_of(seen.begin() + static_cast<std::ptrdiff_t>(before), seen.end(),
                  [](const Observation& one) { return one.health > Health::kFlag; });
  if (result->exit_code != 0 && !explained) {
    check.add(Health::kError, "command", joined(argv),
              fmt::format("exits with {}, and its output does not say why", result->exit_code));
  }
  return true;
}

std::optional<int> nvidia_devices(const HostView& view) {
  const auto cards = pci_devices(view, "0x10de", "0x0302");
  const auto shown = pci_devices(view, "0x10de", "0x0300");
  return cards ? std::optional(*cards + shown.value_or(0)) : std::nullopt;
}

void look_at_kernel_log(const HostView& view, const Host& host, CheckResult& check) {
  for (const Argv& argv : {Argv{"dmesg"}, Argv{"journalctl", "-k", "-b", "--no-pager"}}) {
    CheckResult read("kernel-log");
    if (!read_command(view, argv, kCommandLimit, read_kernel_log, host, read)) continue;
    const bool understood =
        std::any_of(read.observations().begin(), read.observations().end(),
                    [](const Observation& one) { return one.rule == "kernel-log"; });
    if (!understood && argv.front() == "dmesg") continue;  // not permitted: the journal may be
    for (const Observation& one : read.observations()) check.add(one);
    return;
  }
  for (const char* path : {"/var/log/dmesg", "/var/log/kern.log"}) {
    if (const auto text = view.file(path)) {
      read_kernel_log({path, *text}, host, check);
      return;
    }
  }
  check.add(Health::kUnknown, "kernel-log-empty", {}, "the kernel's log can't be read");
}

void look_at_gpu(const HostView& view, const Host& host, CheckResult& check) {
  // The driver's library answers within milliseconds; nvidia-smi takes seconds and tells more.
  const auto nvml = view.run({"nvml"}, kNvmlLimit);
  std::string failed;
  if (nvml) {
    read_gpu({"NVML", nvml->out}, host, check);
    if (host.quick) return;
    CheckResult also("gpu");
    if (!read_command(view, {"nvidia-smi", "-q", "-x"}, kCommandLimit, read_gpu, host, also))
      return;
    for (const Observation& one : also.observations()) check.add(one);
    return;
  }
  const Finding& why = nvml.findings().front();
  if (why.rule == "nvml-timeout") {
    // nvidia-smi would hang in the same call.
    check.add(Health::kError, "nvml", {}, why.message);
    return;
  }
  if (why.rule == "nvml-failed") failed = why.message;
  CheckResult with("gpu");
  look_with_nvidia_smi(view, host, with, {{"nvidia-smi", "-q", "-x"}}, read_gpu);
  for (const Observation& one : with.observations()) check.add(one);
  if (failed.empty()) return;
  check.add(is_fault(with.health()) ? Health::kFlag : Health::kError, "nvml", {}, failed);
}

void look_at_topology(const HostView& view, const Host& host, CheckResult& check) {
  std::vector<Argv> commands = {{"nvidia-smi", "topo", "-m"}};
  const bool nvlink =
      !host.instance || (host.instance->nvlink && host.instance->nvlink->links.value_or(0) > 0);
  if (nvlink) {
    commands.push_back({"nvidia-smi", "nvlink", "-s"});
    commands.push_back({"nvidia-smi", "nvlink", "-e"});
  }
  look_with_nvidia_smi(view, host, check, commands, read_topology);
}

void look_at_dcgm(const HostView& view, const Host& host, CheckResult& check) {
  const auto devices = nvidia_devices(view);
  const Argv argv = {"dcgmi", "diag", "-r", std::to_string(host.dcgm_level), "-j"};
  if (devices == 0 && host.accelerators("gpu").value_or(0) == 0) {
    check.add(Health::kNotApplicable, "none", {}, "no GPUs on this host");
    return;
  }
  // Typical times: 2 minutes, 30 minutes, 2 hours; beyond 1.5 times of that something hangs.
  constexpr int kMinutes[] = {5, 15, 60, 180};
  const auto limit = std::chrono::minutes(kMinutes[std::clamp(host.dcgm_level, 1, 4) - 1]);
  if (!read_command(view, argv, limit, read_dcgm, host, check))
    without_tool("GPUs", argv, devices, host.accelerators("gpu"), check);
}

void look_at_slurm(const HostView& view, const Host& host, CheckResult& check) {
  if (read_command(view, {"scontrol", "--oneliner", "show", "nodes"}, kCommandLimit, read_slurm,
                   host, check) ||
      read_command(view, {"sinfo"}, kCommandLimit, read_slurm, host, check)) {
    return;
  }
  // A cluster of which nothing can be seen is not one that is well.
  check.add(Health::kUnknown, "no-tool", {}, "neither scontrol nor sinfo is there");
}

void look_at_neuron(const HostView& view, const Host& host, CheckResult& check) {
  const Argv argv = {"neuron-ls", "-j"};
  if (!read_command(view, argv, kCommandLimit, read_neuron, host, check)) {
    // Amazon's devices of class "processing accelerator".
    without_tool("Neuron devices", argv, pci_devices(view, "0x1d0f", "0x0880"),
                 host.accelerators("neuron"), check);
  }
}

void look_at_limits(const HostView& view, const Host& host, CheckResult& check) {
  const auto text = view.file("/proc/self/limits");
  if (text)
    read_limits({"/proc/self/limits", *text}, host, check);
  else
    check.add(Health::kUnknown, "limits-empty", {}, text.findings().front().message);
}

}  // namespace muster::health
