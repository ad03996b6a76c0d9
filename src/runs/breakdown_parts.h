// What the two halves of break_down() share. Internal to runs/.
#pragma once

#include <string>

#include "runs/breakdown.h"
#include "runs/rank_view.h"

namespace muster::runs::parts {

/// What the native engine's time is bound by.
std::string native_bound(const TimeShares& shares, const facts::Nsight& rules);

/// Fills in bound, evidence, straggler and remarks.
void judge_native(Breakdown& out, const facts::Nsight& rules);

}  // namespace muster::runs::parts
