// What tools tell of a host: no reader crashes, every check says something, and an ok has evidence.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/file_system.h"
#include "facts/facts.h"
#include "health/checks.h"

namespace {

struct Known {
  muster::facts::KernelPolicy kernel =
      muster::facts::load_xid(muster::real_file_system(), MUSTER_SOURCE_DIR).value();
  muster::facts::DcgmErrors dcgm =
      muster::facts::load_dcgm(muster::real_file_system(), MUSTER_SOURCE_DIR).value();
  muster::facts::Thresholds thresholds =
      muster::facts::load_health(muster::real_file_system(), MUSTER_SOURCE_DIR).value();
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Known kKnown;
  namespace health = muster::health;
  health::Host host;
  host.kernel = &kKnown.kernel;
  host.dcgm = &kKnown.dcgm;
  host.thresholds = &kKnown.thresholds;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const health::CheckKind& kind : health::check_kinds()) {
    health::CheckResult check(kind.name);
    kind.read({"input", text}, host, check);
    if (check.observations().empty() || check.evidence().empty()) std::abort();
  }
  return 0;
}
