// What following a run has in common for every target: why it was ended, and the limits.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace muster::launch {

/// Why a run has to end before it ended by itself.
enum class Stop { kNo, kInterrupted, kCancelled, kTimeLimit, kSilent };

/// Asked about ten times a second while a run is followed; shows progress on the way.
using Tick = std::function<Stop()>;

}  // namespace muster::launch
