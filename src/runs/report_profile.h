// What the report shows of a profile: where each rank's time went. Pure.
#pragma once

#include <string>
#include <vector>

#include "runs/breakdown.h"

namespace muster::runs {

/// Empty when there is no profile.
std::string profile_section(const std::vector<Breakdown>& profiles);

}  // namespace muster::runs
