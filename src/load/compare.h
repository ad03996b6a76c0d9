// Two results of a load held against each other. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "base/verdict.h"

namespace muster::load {

/// One figure of one level in both.
struct Change {
  std::string level, figure;
  double before = 0, after = 0;
  bool more_is_better = false;
  /// after / before; above 1 is more, which may be worse. Nothing when before is 0.
  std::optional<double> ratio() const;
};

struct Comparison {
  std::vector<Change> changes;
  Verdict verdict;  ///< like: the same workload; one check a figure that got worse than allowed
};

/// Of two documents as `muster load` writes them. Settings that make figures differ by themselves
/// (interface, lengths, turns, load) must be the same, or nothing is compared and the verdict is
/// unknown. `tolerance` 0.1: up to a tenth worse is no failure. Failure: not such a document.
Result<Comparison> compare_loads(const nlohmann::json& before, const nlohmann::json& after,
                                 double tolerance);

}  // namespace muster::load
