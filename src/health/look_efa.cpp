// Elastic Fabric Adapters as the kernel shows them in /sys, and what has to be there beside them.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "base/words.h"
#include "health/look.h"
#include "health/readers.h"

namespace muster::health {
namespace {

const std::filesystem::path kClass = "/sys/class/infiniband";

std::string line_of(const HostView& view, const std::filesystem::path& path) {
  const auto text = view.file(path);
  return text ? std::string(trimmed(first_line(*text))) : std::string();
}

/// Whether a device of the RDMA class is an EFA: by its driver, else by its vendor and device, else
/// by the names that the driver gives.
bool is_efa(const HostView& view, const std::string& device) {
  const auto uevent = view.file(kClass / device / "device/uevent");
  if (uevent && uevent->find("DRIVER=") != std::string::npos)
    return uevent->find("DRIVER=efa") != std::string::npos;
  const std::string vendor = line_of(view, kClass / device / "device/vendor");
  if (!vendor.empty())
    return vendor == "0x1d0f" &&
           line_of(view, kClass / device / "device/device").starts_with("0xefa");
  return device.starts_with("efa") || device.starts_with("rdmap");
}

void judge_ports(const HostView& view, const std::string& device, CheckResult& check) {
  const auto ports = view.list(kClass / device / "ports");
  if (!ports || ports->empty()) {
    check.add(Health::kUnknown, "efa-port", device, "no port is shown");
    return;
  }
  for (const std::string& port : *ports) {
    const auto folder = kClass / device / "ports" / port;
    const std::string who = fmt::format("{} port {}", device, port);
    const std::string state = line_of(view, folder / "state");
    const std::string physical = line_of(view, folder / "phys_state");
    if (state.empty()) {
      check.add(Health::kUnknown, "efa-port", who, "its state can't be read");
    } else if (state.find("ACTIVE") == std::string::npos) {
      check.add(Health::kInvestigate, "efa-port", who, "its state is " + state);
    } else if (!physical.empty() && physical.find("LinkUp") == std::string::npos) {
      check.add(Health::kInvestigate, "efa-port", who, "its link is " + physical);
    } else {
      check.add(Health::kOk, "efa-port", who, "active");
    }
  }
}

void judge_surroundings(const HostView& view, int devices, CheckResult& check) {
  std::vector<std::string> missing;
  for (const char* module : {"efa", "ib_uverbs", "ib_core"}) {
    if (!view.exists(std::filesystem::path("/sys/module") / module)) missing.emplace_back(module);
  }
  if (!missing.empty() && view.exists("/sys/module")) {
    check.add(Health::kFlag, "efa-modules", {},
              fmt::format("not loaded: {}", fmt::join(missing, ", ")));
  }
  const auto special = view.list("/dev/infiniband");
  const auto verbs =
      special ? std::count_if(special->begin(), special->end(),
                              [](const std::string& name) { return name.starts_with("uverbs"); })
              : 0;
  if (verbs < devices) {
    // An image of a container may leave them out; an active port says more than they do.
    check.add(Health::kFlag, "efa-verbs", {},
              fmt::format("{} of {} devices have a /dev/infiniband/uverbs*", verbs, devices));
  }
}

}  // namespace

void look_at_efa(const HostView& view, const Host& host, CheckResult& check) {
  const auto expected = host.efa_devices();
  const auto names = view.list(kClass);
  if (!names) {
    if (!view.exists("/sys/class")) {
      check.add(Health::kUnknown, "efa-count", {}, "the host does not show /sys/class");
    } else if (expected.value_or(0) > 0) {
      check.add(
          Health::kReplace, "efa-count", {},
          fmt::format("no RDMA device, {} has {} EFA devices", host.instance->name, *expected));
    } else {
      check.add(Health::kNotApplicable, "none", {}, "no RDMA device on this host");
    }
    return;
  }
  int devices = 0;
  std::vector<std::string> others;
  for (const std::string& name : *names) {
    if (!is_efa(view, name)) {
      others.push_back(name);
      continue;
    }
    ++devices;
    judge_ports(view, name, check);
  }
  const std::string seen = fmt::format(
      "{} EFA devices{}", devices,
      others.empty() ? std::string() : fmt::format(" beside {}", fmt::join(others, ", ")));
  if (expected && devices != *expected) {
    check.add(Health::kReplace, "efa-count", {},
              fmt::format("{}, {} has {}", seen, host.instance->name, *expected));
  } else if (devices == 0) {
    check.add(Health::kNotApplicable, "none", {}, "no EFA device on this host");
    return;
  } else {
    check.add(Health::kOk, "efa-count", {},
              expected ? fmt::format("{}, as {} has", seen, host.instance->name) : seen);
  }
  if (devices > 0) judge_surroundings(view, devices, check);
}

}  // namespace muster::health
