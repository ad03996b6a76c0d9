// Where the time of each rank went, and what that says: one model for the native engine's traces
// and for the statistics of Nsight Systems. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "facts/nsight.h"
#include "runs/nsys_stats.h"
#include "runs/trace.h"

namespace muster::runs {

/// Seconds. What the source can't tell is absent.
struct TimeShares {
  double wall = 0;           ///< of steps; of nsys: of GPU work
  double own = 0;            ///< computing: the wall's rest beside waiting, or kernels but NCCL's
  double communication = 0;  ///< operations under way, or NCCL kernels; may lie under `own`
  std::optional<double> hidden;   ///< communication while computing
  std::optional<double> waiting;  ///< for operations
  std::optional<double> late;     ///< of `waiting`: for ranks that had not come yet
  std::optional<double> memory;   ///< copies and sets of memory
};

struct StepBreakdown {
  long long step = 0;
  TimeShares shares;
  std::string bound;
};

struct RankBreakdown {
  int rank = 0;
  std::string host;
  std::string file;
  TimeShares shares;
  std::string
      bound;  ///< communication, compute, straggler, synchronisation, memory, mixed, unknown
  std::vector<StepBreakdown> steps;
  std::optional<double> waited_for;          ///< seconds that others waited for this one
  std::optional<int> last;                   ///< operations to which it came last
  std::map<std::string, double> categories;  ///< seconds by kind of kernel
};

struct Remark {
  std::string rule;     ///< e.g. profile-straggler
  std::string message;  ///< what was seen
  std::string hint;     ///< what to look at; may be empty
};

struct Breakdown {
  std::string source;  ///< native, nsys; empty: nothing was read
  std::string bound = "unknown";
  std::string evidence;
  std::optional<int> straggler;      ///< a rank
  std::vector<RankBreakdown> ranks;  ///< by rank
  std::vector<Remark> remarks;
  std::vector<std::string> gaps;  ///< what could not be read or is missing
};

/// Of traces: at most one of a rank.
Breakdown break_down(const std::vector<RankTrace>& traces, const facts::Nsight& rules);

/// Of statistics: tables of one rank may come from several files.
Breakdown break_down(const std::vector<RankStats>& stats, const facts::Nsight& rules);

nlohmann::ordered_json to_json(const Breakdown& breakdown);

}  // namespace muster::runs
