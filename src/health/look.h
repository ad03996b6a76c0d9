// How each check looks at a host. Internal to the health checks.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/check.h"
#include "health/host.h"
#include "health/view.h"

namespace muster::health {

void look_at_kernel_log(const HostView& view, const Host& host, CheckResult& check);
void look_at_gpu(const HostView& view, const Host& host, CheckResult& check);
void look_at_dcgm(const HostView& view, const Host& host, CheckResult& check);
void look_at_topology(const HostView& view, const Host& host, CheckResult& check);
void look_at_efa(const HostView& view, const Host& host, CheckResult& check);
void look_at_fabric(const HostView& view, const Host& host, CheckResult& check);
void look_at_slurm(const HostView& view, const Host& host, CheckResult& check);
void look_at_neuron(const HostView& view, const Host& host, CheckResult& check);
void look_at_limits(const HostView& view, const Host& host, CheckResult& check);
void look_at_clocks(const HostView& view, const Host& host, CheckResult& check);
void look_at_memory(const HostView& view, const Host& host, CheckResult& check);
void look_at_storage(const HostView& view, const Host& host, CheckResult& check);
void look_at_container_runtime(const HostView& view, const Host& host, CheckResult& check);
void look_at_versions(const HostView& view, const Host& host, CheckResult& check);
void look_at_pytorch(const HostView& view, const Host& host, CheckResult& check);

/// Limit of a command that answers at once on a host that is well.
inline constexpr std::chrono::milliseconds kCommandLimit{30000};

/// Runs a command and gives what it prints to the reader. A command that hangs, or ends with a code
/// that its output does not explain, is told. False: there is no such command.
bool read_command(const HostView& view, const std::vector<std::string>& argv,
                  std::chrono::milliseconds limit,
                  void (*read)(const Text&, const Host&, CheckResult&), const Host& host,
                  CheckResult& check);

/// PCI devices of a vendor (and a class, by its first digits). Nothing: the host does not show its
/// devices.
std::optional<int> pci_devices(const HostView& view, std::string_view vendor, std::string_view kind,
                               std::string_view device = {});

/// GPUs on the PCI bus. Nothing: the host does not show its devices.
std::optional<int> nvidia_devices(const HostView& view);

}  // namespace muster::health
