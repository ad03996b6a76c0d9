// `muster-train train`.
#pragma once

#include "engine/train/settings.h"

namespace muster::train {

/// Joins the job and trains. Returns the exit code; when a collective fails it ends the whole job
/// instead.
int run_training(const Settings& settings);

}  // namespace muster::train
