// One GPU, read through the library.
#pragma once

#include <array>

#include "health/nvml.h"
#include "health/nvml_library.h"

namespace muster::health::nvml {

/// The two samples between which ratios of the hardware's own counters are taken (Hopper and
/// later).
struct GpmSamples {
  bool asked = false;  ///< whether the GPU has them
  bool supported = false;
  std::array<GpmSample, 2> samples = {nullptr, nullptr};
  int filled = 0;
};

/// Reads all that the GPU has.
NvmlGpu read_gpu(Library& library, Device device, int index, GpmSamples& samples);

}  // namespace muster::health::nvml
