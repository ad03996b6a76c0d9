// How a run is profiled: the words that go before the program of each process, so that a capture
// knows the process's own rank whatever the launcher. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/case.h"
#include "facts/nsight.h"
#include "launch/target.h"
#include "launch/workload.h"

namespace muster::launch {

/// What is asked for on the command line.
struct Profiling {
  enum class Tool { kNone, kNsys, kNative };
  Tool tool = Tool::kNone;
  std::string ranks = "first-per-node";  ///< or all, or a list: 0,8 or 0-3
  std::optional<int> delay, duration;    ///< seconds; nothing: those of the facts
  std::string steps;                     ///< FIRST:LAST; empty: by time, or the engine's own range
  std::string trace;                     ///< APIs; empty: those of the facts
  std::string nsys = "nsys";  ///< a name, or where it is on the nodes, which is then mounted
  std::string efa = "auto";   ///< auto: where the case has EFA; or on, off
  std::int64_t least_free = std::int64_t{2} << 30;  ///< bytes that must be free for a report
  std::vector<std::string> options;                 ///< further ones of nsys profile
};

Result<Profiling::Tool> parse_profiling_tool(const std::string& name);

/// What can't be: values, and what this case or target does not do.
Findings check_profiling(const Profiling& asked, const catalog::ResolvedCase& resolved,
                         Target target);

/// The words that run a program under nsys on the ranks that were asked for, and the others as they
/// are: `bash -c SCRIPT muster-nsys`. `folder`: shell text of where reports go. The program's exit
/// code passes through, signals reach the program itself, and it goes on when the capture is over.
std::vector<Word> nsys_words(const Profiling& asked, const facts::Nsight& known,
                             const std::string& folder, const std::string& job_name, bool efa);

/// For a workload whose processes know MUSTER_RUN_DIR; nothing when nsys was not asked for.
std::vector<Word> profiler_of(const Profiling& asked, const facts::Nsight& known,
                              const Workload& workload);

/// The folder of the node that has nsys in it, to be mounted; empty: the image has its own.
std::string nsys_folder(const Profiling& asked);

}  // namespace muster::launch
