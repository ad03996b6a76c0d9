// The judge: expectations, the ranks' events and the launcher's result in, a verdict with evidence
// out. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/verdict.h"

#include <nlohmann/json.hpp>

namespace muster::runs {

/// What the case asks of a run. A check that nobody asked for is left out of the verdict, not
/// passed.
struct Expectations {
  int world = 1;                   ///< ranks asked for
  std::optional<long long> steps;  ///< the last step that must be reached

  /// The events were read from the logs of a program that is not ours (log_reader.h): who prints
  /// figures, how often and which is its own choice. One rank's figures are then enough, and what
  /// no log says is left out unless something is asked of it.
  bool from_log = false;

  /// The program measures something else than training: whether it has steps is not asked.
  bool steps_told = true;

  /// Only the process that places the others leaves a log (Ray's driver): `world` is 1, and whether
  /// the others joined is not asked.
  bool driver_only = false;

  bool parameters_agree = true;
  bool finite = true;
  bool loss_fell = true;

  std::optional<double> eval_loss_max;  ///< the last evaluation's loss must lie in [min, max]
  std::optional<double> eval_loss_min;
  bool checkpoint_reloads = false;

  /// mpi, gloo, nccl or single: that one must have been used. auto: reported, with what says so.
  /// Empty: not asked.
  std::string transport;

  bool throughput = true;                       ///< report it
  std::optional<double> tokens_per_second_min;  ///< of the whole world, median
  std::optional<double> mfu_min;                ///< share of the measured peak, 0 to 1

  bool stragglers = true;  ///< needs two ranks; left out for one
  /// A rank is a straggler when its own time a step passes both: times the median of the others,
  /// and (from three ranks on) median absolute deviations above the median rank.
  double straggler_ratio = 1.5;
  double straggler_mads = 5;
};

/// Events of one rank's file, in the file's order, and what could not be read of it.
struct RankEvents {
  int rank = 0;  ///< as the file's name says
  std::string file;
  std::vector<nlohmann::json> events;
  Findings findings;  ///< lines that are not events
};

/// How the launcher (mpirun, srun, sbatch) ended.
struct LauncherResult {
  /// kNotStarted: it could not be submitted. kStartFailed: it was, and not all of it came in time.
  enum class End {
    kExited,
    kCancelled,
    kInterrupted,
    kTimedOut,
    kHang,
    kStartFailed,
    kNotStarted,
    kUnknown
  };
  End end = End::kUnknown;
  std::optional<int> exit_code;  ///< 128 + signal when a signal ended it
  std::string detail;  ///< one sentence, used as evidence, e.g. "srun: error: n2: task 1: Killed"
};

/// Checks, in this order: completed, ranks-joined, parameters-agree, finite, loss-fell, eval-loss,
/// checkpoint-reloads, transport, throughput, stragglers. Missing evidence is unknown, never pass.
/// The order of `ranks` does not matter.
Verdict judge(const Expectations& expectations, const std::vector<RankEvents>& ranks,
              const LauncherResult& launcher);

/// Reads RUN/metrics/rank-*.jsonl; files that can't be read become findings of their rank.
std::vector<RankEvents> read_rank_events(const std::string& run_directory);

/// RUN/verdict.json: `{"schema_version": 1, "outcome": …, "checks": [{"name", "outcome",
/// "evidence"}]}`, worst first.
nlohmann::ordered_json verdict_document(const Verdict& verdict);

}  // namespace muster::runs
