// muster reorg port BRANCH: a branch of the old layout, carried over to the new one.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/reorg.h"
#include "reorg/port.h"

namespace muster::cli {
namespace {

struct PortCommand {
  PlanOptions plan;
  std::string branch, onto, to;
};

void port(const PortCommand& command, Context& context) {
  const auto ported =
      reorg::port(context.files,
                  {{command.plan.plan, context.directory / command.plan.repository, command.onto},
                   command.branch,
                   command.to,
                   command.plan.threads});
  if (!ported) {
    const bool refused =
        std::any_of(ported.findings().begin(), ported.findings().end(),
                    [](const Finding& finding) { return finding.rule == "reorg-refused"; });
    return context.fail(ported.findings(), refused ? kExitFailed : kExitBadInput);
  }
  Output output;
  output.name = "reorg port";
  output.judges = true;
  output.data["branch"] = command.branch;
  output.data["commits"] = ported->commits;
  output.data["tip"] = ported->tip.hex();
  output.data["conflicts"] = ported->conflicts;
  output.data["old_paths"] = ported->old_paths;
  for (const std::string& path : ported->conflicts) {
    output.findings.push_back(error_at({path, 0, 0}, "reorg-port-conflict",
                                       fmt::format("\"{}\" does not apply: both branches changed "
                                                   "this",
                                                   ported->conflicting),
                                       "bring the branch up to date in the old layout first"));
  }
  for (const std::string& path : ported->old_paths) {
    output.findings.push_back(error_at({path, 0, 0}, "reorg-old-path",
                                       "the branch's commits leave this at an old path",
                                       "move it in the branch, or add a rule"));
  }
  output.text = findings_text(output.findings);
  if (ported->conflicts.empty()) {
    *output.text +=
        fmt::format("{} carried over{}\n", counted(ported->commits, "commit"),
                    command.to.empty() ? ": " + ported->tip.hex() : " to " + command.to);
  }
  context.print(output);
  if (!ported->conflicts.empty() || !ported->old_paths.empty()) context.exit_code = kExitFailed;
}

}  // namespace

void add_reorg_port(CLI::App& reorg, Context& context) {
  CLI::App* sub = reorg.add_subcommand(
      "port", "Carry a branch that was begun on the old layout over to the new one");
  auto command = std::make_shared<PortCommand>();
  sub->add_option("branch", command->branch, "The branch, in the old layout")
      ->required()
      ->type_name("BRANCH");
  add_plan_options(*sub, command->plan);
  sub->add_option("--onto", command->onto, "The branch that has moved; default: HEAD")
      ->type_name("REV");
  sub->add_option("--to", command->to, "Name of the new branch; without it only a commit is made")
      ->type_name("NAME");
  sub->footer(
      "The plan's moves and edits are made in each of the branch's own commits, which are then put "
      "on\n"
      "the branch that has moved; only what conflicted before the move conflicts.\n"
      "Exit code: 0 done, 2 input can't be read, 3 a conflict: the paths are named.\n"
      "Example:\n  muster reorg port feature plan.yaml --to feature-ported");
  sub->callback([command, &context] { port(*command, context); });
}

}  // namespace muster::cli
