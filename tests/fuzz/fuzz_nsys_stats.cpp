// Statistics of nsys and traces: nothing in them crashes, shares are shares, and a file without
// tables says nothing.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "runs/profile.h"
#include "runs/report_profile.h"

namespace {

const muster::facts::Nsight& rules() {
  static const auto kRules = [] {
    auto loaded = muster::facts::load_nsight(muster::real_file_system(), MUSTER_SOURCE_DIR);
    if (!loaded) std::abort();
    return std::move(*loaded);
  }();
  return kRules;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::runs::Profile profile;
  muster::runs::read_profile(std::string(reinterpret_cast<const char*>(data), size), "f.csv",
                             rules(), profile);
  const auto all = muster::runs::break_down(profile, rules());
  for (const auto& one : all) {
    if (one.ranks.empty() && one.bound != "unknown") std::abort();
    for (const auto& rank : one.ranks) {
      if (!(rank.shares.own >= -1e-6 * rank.shares.wall) || std::isnan(rank.shares.wall))
        std::abort();
    }
    (void)muster::runs::to_json(one).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  (void)muster::runs::profile_section(all);
  return 0;
}
