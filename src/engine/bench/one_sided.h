// One-sided operations between pairs of ranks, in the shapes of NVSHMEM's perftest: put, get,
// atomics, a ping-pong of puts, and an all-to-all of puts; over MPI's remote memory access.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/bench/fabric.h"
#include "engine/bench/monitor.h"
#include "engine/bench/settings.h"

namespace muster::measure {

enum class OneSided { kPut, kGet, kAtomic, kPingPong, kAllToAll };
const char* to_string(OneSided operation);

/// What is done with the 64-bit word of an atomic operation.
enum class Atomic { kInc, kFetchAdd, kSwap, kCompareSwap };
const char* to_string(Atomic atomic);
std::optional<Atomic> atomic(const std::string& name);

struct OneSidedOptions {
  int window = 64;  ///< operations that are begun before they are waited for, of bandwidths
  bool both_ways = false;
  Atomic atomic = Atomic::kFetchAdd;
};

struct OneSidedRow {
  std::size_t bytes = 0;
  double latency = 0;            ///< microseconds of one operation that is waited for
  double bandwidth = 0;          ///< GB/s of a pair, `window` operations under way; both ways added
  double slowest_bandwidth = 0;  ///< of the slowest pair
  double million_per_second = 0;  ///< operations of a pair
  std::optional<std::size_t> wrong;
};

/// Pairs are rank i and i + n/2. Throws Unsupported for an odd number of ranks (all-to-all takes
/// any).
void measure_one_sided(OneSided operation, const Sweep& sweep, const OneSidedOptions& options,
                       Fabric& fabric, Monitor& monitor,
                       const std::function<void(const OneSidedRow&)>& row);

std::string one_sided_header(OneSided operation, const Sweep& sweep, const OneSidedOptions& options,
                             const Fabric& fabric);
std::string line(const OneSidedRow& row);

}  // namespace muster::measure
