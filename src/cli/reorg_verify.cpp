// muster reorg verify [BEFORE AFTER]: what a move broke, what was broken before, what it healed.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/reorg.h"
#include "reorg/verify.h"

namespace muster::cli {
namespace {

struct VerifyCommand {
  std::string repository = ".";
  reorg::VerifyOptions options;
};

void verify(const VerifyCommand& command, Context& context) {
  const auto verified = reorg::verify(context.directory / command.repository, command.options);
  if (!verified) return context.fail(verified.findings(), kExitBadInput);
  Output output;
  output.name = "reorg verify";
  output.judges = true;
  const auto add = [&](const std::vector<reorg::Placed>& list, Severity severity, const char* rule,
                       const char* what) {
    const Findings more = reorg::findings_of(list, severity, rule, what);
    output.findings.insert(output.findings.end(), more.begin(), more.end());
  };
  add(verified->broken, Severity::kError, "reorg-broken", "is broken");
  add(verified->anchors, Severity::kWarning, "reorg-anchor", "leads to a page without this place");
  add(verified->dead, Severity::kInfo, "reorg-dead", "was dead before");
  add(verified->healed, Severity::kInfo, "reorg-healed", "was healed");
  add(verified->repairs, Severity::kWarning, "reorg-repair", "could be repaired");
  output.data["newly_broken"] = to_json(verified->broken);
  output.data["dead_before"] = to_json(verified->dead);
  output.data["healed"] = to_json(verified->healed);
  output.data["anchors"] = to_json(verified->anchors);
  output.data["repairs"] = to_json(verified->repairs);
  output.data["references"] = verified->references;
  output.data["moved"] = verified->moved;
  output.data["findings"] = to_json(output.findings);
  output.text = findings_text(output.findings);
  context.print(output);
  if (!context.quiet) {
    context.err << fmt::format(
        "{}: {} newly broken, {} dead before, {} healed, {} without anchor\n",
        counted(verified->references, "reference"), verified->broken.size(), verified->dead.size(),
        verified->healed.size(), verified->anchors.size());
  }
  if (!verified->broken.empty()) {
    context.exit_code = kExitFailed;
  } else if (verified->references == 0) {
    context.exit_code = kExitUnverified;
  }
}

}  // namespace

void add_reorg_verify(CLI::App& reorg, Context& context) {
  CLI::App* sub =
      reorg.add_subcommand("verify", "What a move broke, what was dead before, what it healed");
  auto command = std::make_shared<VerifyCommand>();
  sub->add_option("before", command->options.before,
                  "The old layout; default: what the last run started from")
      ->type_name("REV");
  sub->add_option("after", command->options.after, "The new layout; default: HEAD")
      ->type_name("REV");
  add_repository_option(*sub, command->repository);
  sub->add_option("--map", command->options.map, "Where the map lies; without one, contents tell")
      ->type_name("PATH")
      ->capture_default_str();
  sub->add_option("--name", command->options.name,
                  "Name of the repository in URLs; default: that of origin")
      ->type_name("OWNER/NAME");
  sub->add_option("--former", command->options.former, "A name that it had; may be repeated")
      ->allow_extra_args(false)
      ->type_name("OWNER/NAME");
  sub->add_flag("--repair", command->options.repair,
                "Propose where dead references should lead, by the renames of the history");
  sub->footer(
      "Moves that were made by hand are verified too: name the two revisions.\n"
      "Exit code: 0 nothing is newly broken, 2 input can't be read, 3 something is, 4 there was "
      "no\n"
      "reference to look at.\nExample:\n  muster reorg verify v1.0 HEAD --repair");
  sub->callback([command, &context] { verify(*command, context); });
}

}  // namespace muster::cli
