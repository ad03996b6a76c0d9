// The learning rate of a step.
#pragma once

#include <cstdint>

namespace muster::train {

struct Schedule {
  double peak = 3e-4;       ///< after the warm-up
  double floor = 3e-5;      ///< at the last step
  std::int64_t warmup = 0;  ///< steps of linear rise
  std::int64_t total = 1;   ///< steps of the whole run

  /// Rate of step 1..total (the first step is 1): peak·step/warmup during the warm-up, then
  /// floor + (peak − floor)·(1 + cos(π·t))/2 with t going from 0 to 1 at `total`; `floor` beyond
  /// it.
  double at(std::int64_t step) const;
};

}  // namespace muster::train
