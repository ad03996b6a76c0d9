// The single checks of the judge. Internal to it.
#pragma once

#include "bench/judge.h"

namespace muster::bench {

/// FILE:LINE.
std::string place(const Log& log, int line);

/// Whether the runs of a log are several instead of one: each process on its own. Says so, or
/// nothing.
std::optional<std::string> separate_runs(const Log& log);

/// Nodes of a run, also by its ranks and the accelerators of a node.
std::optional<int> nodes_for(const Run& run, const facts::Instance* instance);

void check_results(const std::vector<Log>& logs, Verdict& verdict);
void check_completed(const std::vector<Log>& logs, Verdict& verdict);
void check_correctness(const std::vector<Log>& logs, const JudgeOptions& options, Verdict& verdict);
void check_world(const std::vector<Log>& logs, const JudgeOptions& options,
                 const JudgeReferences& references, Verdict& verdict);
void check_transport(const std::vector<Log>& logs, const JudgeOptions& options,
                     const JudgeReferences& references, Verdict& verdict);
void check_pairs(const std::vector<Log>& logs, const JudgeOptions& options, Verdict& verdict);
void check_speed(const std::vector<Log>& logs, const JudgeOptions& options,
                 const JudgeReferences& references, Verdict& verdict);

}  // namespace muster::bench
