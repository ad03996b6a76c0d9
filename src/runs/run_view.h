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

/// One run with everything that its directory says: the item, `verdict`, `figures` (steps, losses,
/// rates), `ranks`, `versions`, `topology`, and `files` {count, findings: what was changed since
/// the run ended}. Failure: a file of the directory can't be parsed, located.
Result<RunDetails> run_details(const RunRecord& record);

}  // namespace muster::runs
