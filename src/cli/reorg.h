// What the verbs of `muster reorg` share: opening a plan, and one form of moves and references in
// text and JSON.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/output.h"
#include "cli/context.h"
#include "reorg/rewrite.h"
#include "reorg/workspace.h"

namespace muster::cli {

/// Options that every verb with a plan takes.
struct PlanOptions {
  std::string plan;
  std::string repository = ".";
  std::string revision;
  unsigned threads = 0;
  bool repair = false;      ///< dead references that the history explains are edits too
  bool merge_only = false;  ///< this repository's own rules are left for later
};

void add_plan_options(CLI::App& sub, PlanOptions& options);
void add_repository_option(CLI::App& sub, std::string& repository);

/// A plan, its moves and what it does to references.
struct Planned {
  std::unique_ptr<reorg::Workspace> workspace;
  reorg::Rewriting rewriting;
  Findings findings;  ///< of the plan and its effects
};

/// Nothing when it could not be read; then the findings are printed and the exit code is set. A
/// plan with collisions is planned as far as it goes.
std::optional<Planned> make_plan(Context& context, const PlanOptions& options);

nlohmann::ordered_json to_json(const std::vector<reorg::Placed>& references);
/// {repository?, from, to} of what moves, {repository?, from} of what is dropped.
nlohmann::ordered_json moves_json(const reorg::Layout& layout, bool dropped);
/// How many those are.
std::size_t count_moves(const reorg::Layout& layout, bool dropped);
/// As findings: edits are information, what a person must look at warnings.
Findings reference_findings(const reorg::Rewriting& rewriting);
/// One finding a line.
std::string findings_text(const Findings& findings);
/// "3 files", "1 file".
std::string counted(std::size_t count, const char* what);

// The verbs below `muster reorg`, each in a file of its own.
void add_reorg_plan(CLI::App& reorg, Context& context);
void add_reorg_apply(CLI::App& reorg, Context& context);  ///< apply, merge, undo, check
void add_reorg_map(CLI::App& reorg, Context& context);
void add_reorg_verify(CLI::App& reorg, Context& context);
void add_reorg_consumers(CLI::App& reorg, Context& context);
void add_reorg_stages(CLI::App& reorg, Context& context);
void add_reorg_port(CLI::App& reorg, Context& context);

}  // namespace muster::cli
