// The last run of every case, as metrics.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "base/verdict.h"
#include "metrics/exposition.h"
#include "runs/run_record.h"

namespace muster::metrics {

struct RunResult {
  runs::RunRecord record;
  Verdict verdict;
  nlohmann::ordered_json figures;  ///< runs::run_figures
};

/// muster_run_… of each; of several runs of one case, target and profile the one made last.
void collect_runs(const std::vector<RunResult>& results, Exposition& to);

}  // namespace muster::metrics
