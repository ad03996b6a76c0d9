// What NVML tells, in the form of `nvidia-smi -q -x`: one judge for both.
#pragma once

#include <string>

#include "health/nvml.h"

namespace muster::health {

/// As far as the checks judge it. A GPU that could not be read says so where nvidia-smi would.
std::string nvml_text(const NvmlReading& reading);

}  // namespace muster::health
