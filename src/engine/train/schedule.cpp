#include "engine/train/schedule.h"

#include <cmath>
#include <numbers>

namespace muster::train {

double Schedule::at(std::int64_t step) const {
  if (step <= warmup) return peak * static_cast<double>(step) / static_cast<double>(warmup);
  if (step >= total) return floor;
  const double t = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
  return floor + (peak - floor) * 0.5 * (1.0 + std::cos(std::numbers::pi * t));
}

}  // namespace muster::train
