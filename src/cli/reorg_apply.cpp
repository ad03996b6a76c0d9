// muster reorg apply, merge, undo and check: what writes commits, and whether there is anything
// left.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/reorg.h"
#include "reorg/apply.h"
#include "reorg/paths.h"

namespace muster::cli {
namespace {

struct ApplyCommand {
  PlanOptions plan;
  std::string branch;
  bool no_verify = false;
};

void add_apply_options(CLI::App& sub, ApplyCommand& command) {
  add_plan_options(sub, command.plan);
  sub.add_option("--branch", command.branch,
                 "Write to this new branch and leave the work tree alone")
      ->type_name("NAME");
  sub.add_flag("--no-verify", command.no_verify,
               "Change the branch even when references are newly broken");
}

/// Refusals are judgements; what could not be written is an error of the environment.
void fail(Context& context, const Findings& findings) {
  const bool refused = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.rule == "reorg-refused";
  });
  context.fail(findings, refused ? kExitFailed : kExitInternal);
}

nlohmann::ordered_json ids(const std::vector<reorg::ObjectId>& list) {
  auto result = nlohmann::ordered_json::array();
  for (const reorg::ObjectId& id : list) result.push_back(id.hex());
  return result;
}

Output applied_output(const char* name, const reorg::Applied& applied) {
  Output output;
  output.name = name;
  output.data["reference"] = applied.reference;
  output.data["before"] = applied.before.hex();
  output.data["after"] = applied.after.hex();
  output.data["changed"] = applied.changed();
  return output;
}

void apply(const ApplyCommand& command, Context& context) {
  auto planned = make_plan(context, command.plan);
  if (!planned) return;
  if (planned->workspace->moves.collided) return context.fail(planned->findings, kExitFailed);
  const auto applied = reorg::apply(*planned->workspace, planned->rewriting,
                                    {command.branch, command.plan.threads, !command.no_verify});
  if (!applied) return fail(context, applied.findings());
  Output output = applied_output(command.plan.merge_only ? "reorg merge" : "reorg apply", *applied);
  output.data["moves"] = ids(applied->moves);
  output.data["merges"] = ids(applied->merges);
  output.data["edits"] = applied->edits ? applied->edits->hex() : "";
  output.data["moved_files"] = applied->moved_files;
  output.data["edited_files"] = applied->edited_files;
  output.data["merged_commits"] = applied->merged_commits;
  output.data["proposals"] = to_json(planned->rewriting.proposals);
  reorg::Rewriting open;
  open.proposals = planned->rewriting.proposals;
  open.unclear = planned->rewriting.unclear;
  for (const std::string& path : applied->submodules) {
    planned->findings.push_back(warning_at({reorg::quoted_path(path), 0, 0}, "reorg-submodule",
                                           "this submodule is not checked out where it lies now",
                                           "git submodule update --init"));
  }
  output.data["findings"] = to_json(planned->findings);
  const std::string done =
      applied->changed()
          ? fmt::format(
                "{}: {} moved in {}, {} edited, {} merged\n", applied->reference,
                counted(applied->moved_files, "file"), counted(applied->moves.size(), "commit"),
                counted(applied->edited_files, "file"), counted(applied->merged_commits, "commit"))
          : std::string("nothing to do\n");
  output.text = findings_text(planned->findings) + findings_text(reference_findings(open)) + done;
  context.print(output);
}

void undo(const std::string& repository, Context& context) {
  auto opened = reorg::Repository::open(context.directory / repository);
  if (!opened) return context.fail(opened.findings(), kExitBadInput);
  const auto undone = reorg::undo(*opened);
  if (!undone) return fail(context, undone.findings());
  Output output = applied_output("reorg undo", *undone);
  output.text = fmt::format("{} is at {} again\n", undone->reference, undone->after.hex());
  context.print(output);
}

void check(const PlanOptions& options, Context& context) {
  const auto planned = make_plan(context, options);
  if (!planned) return;
  const reorg::Plan& plan = planned->workspace->plan;
  const bool no_rules = plan.repository.rules.empty() && plan.merged.empty();
  if (no_rules || planned->workspace->world->tree(0).files().empty())
    return context.fail({error_at({plan.file, 0, 0}, "reorg-nothing",
                                  no_rules ? "the plan has no rule to check by"
                                           : "the commit holds no file to check")},
                        kExitUnverified);
  Output output;
  output.name = "reorg check";
  output.judges = true;
  const reorg::Layout& layout = planned->workspace->moves.layout;
  const auto moves = moves_json(layout, false);
  for (const auto& move : moves) {
    output.findings.push_back(
        error_at({move["from"].get<std::string>(), 0, 0}, "reorg-old-path",
                 fmt::format("this lies at a path that the layout \"{}\" gave up",
                             planned->workspace->plan.name),
                 "it belongs at " + move["to"].get<std::string>()));
  }
  for (const Finding& finding : reference_findings(planned->rewriting)) {
    if (finding.rule == "reorg-edit")
      output.findings.push_back(
          {Severity::kError, finding.rule, finding.where, finding.message, finding.hint});
  }
  output.data["moves"] = moves;
  output.data["drops"] = nlohmann::ordered_json::array();
  for (const auto& drop : moves_json(layout, true)) {
    // What a merged repository leaves out is not here in the first place.
    if (!drop.contains("repository")) output.data["drops"].push_back(drop);
  }
  output.data["edits"] = to_json(planned->rewriting.edits);
  output.data["findings"] = to_json(output.findings);
  output.text = findings_text(output.findings);
  context.print(output);
  const bool differs = !output.findings.empty() || !output.data["drops"].empty();
  const bool unseen = !planned->rewriting.unread.empty();
  if (!context.quiet && !differs && !unseen) context.err << "nothing lies at an old path\n";
  if (planned->workspace->moves.collided) {
    context.fail(planned->findings, kExitFailed);
  } else if (differs) {
    context.exit_code = kExitDiffers;
  } else if (unseen) {
    context.fail(planned->rewriting.unread, kExitUnverified);
  }
}

}  // namespace

void add_reorg_apply(CLI::App& reorg, Context& context) {
  CLI::App* sub = reorg.add_subcommand(
      "apply", "Move, merge and rewrite, in commits on git objects; one reference changes");
  auto command = std::make_shared<ApplyCommand>();
  add_apply_options(*sub, *command);
  sub->add_flag("--repair", command->plan.repair,
                "Also rewrite references that were dead already, where renames explain them");
  sub->footer(
      "Commits that only move keep `git blame` whole: no two files of equal contents move in one.\n"
      "Then one commit edits references, and .git-blame-ignore-revs names it. The new tree is "
      "verified before\n"
      "the branch changes.\n"
      "Exit code: 0 done, 2 input can't be read, 3 refused: a collision, a dirty work tree, a "
      "newly broken\n"
      "reference.\n"
      "Example:\n  muster reorg apply plan.yaml --branch reorganised");
  sub->callback([command, &context] { apply(*command, context); });

  CLI::App* merge_sub = reorg.add_subcommand(
      "merge", "Bring in the plan's other repositories, with their history under the new paths");
  auto merge = std::make_shared<ApplyCommand>();
  merge->plan.merge_only = true;
  add_apply_options(*merge_sub, *merge);
  merge_sub->footer(
      "Commits, authors and dates are kept; signatures are not, since commits are rewritten; #12 "
      "in a\n"
      "message becomes owner/name#12. This repository's own files stay where they are.\n"
      "Exit code: as `apply`.");
  merge_sub->callback([merge, &context] { apply(*merge, context); });

  CLI::App* undo_sub = reorg.add_subcommand(
      "undo",
      "Put the branch back to the commit before the last apply, when nothing came after it");
  auto repository = std::make_shared<std::string>(".");
  add_repository_option(*undo_sub, *repository);
  undo_sub->callback([repository, &context] { undo(*repository, context); });

  CLI::App* check_sub = reorg.add_subcommand(
      "check", "Whether anything lies at an old path or points to one; for CI");
  auto check_options = std::make_shared<PlanOptions>();
  add_plan_options(*check_sub, *check_options);
  check_sub->footer(
      "Exit code: 0 nothing left to do, 2 input can't be read, 4 nothing could be looked at, 5 "
      "something is\n"
      "at an old path.");
  check_sub->callback([check_options, &context] { check(*check_options, context); });
}

}  // namespace muster::cli
