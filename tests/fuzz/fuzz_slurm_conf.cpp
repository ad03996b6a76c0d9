// Slurm's configuration: never crashes, and every finding has its place.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lint/slurm_conf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace lint = muster::lint;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  muster::Findings findings;
  const auto lines = lint::parse_slurm_conf(text, "slurm.conf", findings);
  const auto more = lint::check_slurm_set(lines, lines, "slurm.conf", true);
  for (const auto& list : {findings, more}) {
    for (const muster::Finding& finding : list) {
      if (finding.where.line <= 0 || finding.message.empty()) std::abort();
    }
  }
  return 0;
}
