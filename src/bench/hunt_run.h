// Runs the rounds of a hunt through a command, and keeps what each trial said.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "bench/hunt.h"

namespace muster::bench {

struct HuntCommand {
  /// A shell command for one trial; {nodes} is its nodes with commas between, {count} how many,
  /// {first} and {second} the first two, {round} and {trial} count from 0.
  std::string command;
  std::chrono::milliseconds limit{120000};  ///< of one trial
  bool parallel = true;  ///< the trials of a round at the same time: they share no node
};

enum class Strategy { kPairs, kBisect, kGrow, kAllToAll };

struct HuntOutcome {
  HuntResult result;
  std::vector<Measurement> measurements;
  std::vector<std::string> outputs;  ///< what each measurement's trial printed
  int rounds = 0;
  bool interrupted = false;
};

/// The command of a trial.
std::string trial_command(const HuntCommand& command, const Trial& trial,
                          const std::vector<std::string>& names, int round, int number);

/// The JSON among what a trial has printed, whose braces stand on lines of their own; all of it
/// when there is none.
std::string_view printed_json(std::string_view output);

/// The rate that a trial's output says: of its largest message. No rate, with the reason, when it
/// can't be read, is wrong, or is of processes on their own.
Measurement measure_output(const Trial& trial, int round, const std::string& output, int exit_code);

/// The pairs that the output of one all-to-all tells, each by its largest message: records whose
/// variant is "n1 <-> n2", or "rank 0 <-> rank 1" of ranks in the order of `names`.
std::vector<Measurement> measure_all_pairs(const std::string& output,
                                           const std::vector<std::string>& names, int round);

/// Called after each round with what is known.
using HuntProgress = std::function<void(int round, const HuntResult& result)>;

/// Rounds of disjoint pairs until the same nodes are named twice running, at most node_rounds();
/// all pairs when `all_pairs` asks. Or a bisection, or groups that grow. Or one all-to-all of all
/// nodes whose output tells every pair, and a round that measures again what it makes suspect.
HuntOutcome run_hunt(const std::vector<std::string>& names, const HuntCommand& command,
                     Strategy strategy, bool all_pairs, const HuntSettings& settings,
                     ProcessRunner& processes, const HuntProgress& progress = {});

/// Names of Slurm's short form: n[1-3,7] -> n1 n2 n3 n7. Failure: unbalanced brackets, a range that
/// falls, more than 100,000 names.
Result<std::vector<std::string>> expand_node_list(const std::string& text);

}  // namespace muster::bench
