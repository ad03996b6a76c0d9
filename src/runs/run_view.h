// Runs as the verbs print them: `list runs`, `show run`.
#pragma once

#include <string>
#include <vector>

#include "base/output.h"
#include "base/result.h"
#include "runs/run_record.h"

namespace muster::runs {

/// An item of `list runs`: {name (the id), case, target, profile, state, outcome, note, nodes,
/// world, created, started, ended, exit_code, directory, launcher, command}; what is not known is
/// absent.
nlohmann::ordered_json run_item(const RunRecord& record);
std::vector<OutputColumn> run_item_columns();

struct RunDetails {
  nlohmann::ordered_json data;
  std::string text;
};

/// What a run's events come to: {steps, first_loss, last_loss, eval_loss, tokens_per_second
/// (median, of the whole world), mfu, seconds, start_to_first_step_seconds}; null where the events
/// do not say.
nlohmann::ordered_json run_figures(const RunRecord& record);

/// One run with everything that its directory says: the item, `verdict`, `figures` (steps, losses,
/// rates), `ranks`, `versions`, `topology`, and `files` {count, findings: what was changed since
/// the run ended}. Failure: a file of the directory can't be parsed, located.
Result<RunDetails> run_details(const RunRecord& record);

}  // namespace muster::runs
