// What the tests of the health checks share: the checkout's facts, and outputs of tools.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.h"
#include "health/checks.h"
#include "testing.h"

namespace muster::health {

/// Facts of the checkout, read once.
struct Known {
  facts::KernelPolicy kernel = facts::load_xid(real_file_system(), testing::source_dir()).value();
  facts::DcgmErrors dcgm = facts::load_dcgm(real_file_system(), testing::source_dir()).value();
  facts::Thresholds thresholds =
      facts::load_health(real_file_system(), testing::source_dir()).value();
  std::vector<facts::Instance> instances =
      facts::load_instances(real_file_system(), testing::source_dir()).value();
};

inline const Known& known() {
  static const Known kKnown;
  return kKnown;
}

inline Host a_host(const std::string& instance = {}) {
  Host host;
  host.kernel = &known().kernel;
  host.dcgm = &known().dcgm;
  host.thresholds = &known().thresholds;
  if (!instance.empty()) host.instance = facts::find_instance(known().instances, instance).value();
  return host;
}

inline std::string log(const std::string& name) {
  return real_file_system().read(testing::source_dir() / "tests/health/logs" / name).value();
}

inline CheckResult read(const std::string& check, const std::string& text,
                        const Host& host = a_host()) {
  CheckResult result(check);
  find_check(check)->read({"file", text}, host, result);
  return result;
}

inline Health health(const std::string& check, const std::string& text,
                     const Host& host = a_host()) {
  return read(check, text, host).health();
}

}  // namespace muster::health
