// Which device a rank trains on.
#pragma once

#include <torch/types.h>

#include "base/result.h"
#include "engine/train/settings.h"

namespace muster::train {

/// The CPU, or the CUDA device of this rank's place on its node, which is made the current one.
/// Refuses a device or a transport that this build or machine does not have.
Result<torch::Device> take_device(const Settings& settings);

}  // namespace muster::train
