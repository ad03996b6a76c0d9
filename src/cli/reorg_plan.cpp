// muster reorg plan PLAN.yaml: what would move and what would be rewritten; nothing is written.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/reorg.h"
#include "reorg/paths.h"

namespace muster::cli {
namespace {

/// The moves in as few lines as say them all.
std::string moves_text(const reorg::Layout& layout) {
  std::string text;
  for (std::size_t s = 0; s < layout.sides.size(); ++s) {
    const reorg::Side& side = layout.sides[s];
    std::vector<reorg::MapLine> lines;
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < side.images.size(); ++i) {
      const std::string& from = side.tree.files()[i].path;
      if (side.images[i] || side.rules[i]) {
        lines.push_back({"", from, side.images[i]});
      } else {
        kept.push_back(from);
      }
    }
    const std::string prefix = s == 0 ? "" : side.plan->name + ":";
    for (const reorg::MapRule& rule : reorg::shortest_rules(lines, kept)) {
      const char* slash = rule.directory ? "/" : "";
      text += fmt::format("move: {}{}{} -> {}\n", prefix, reorg::quoted_path(rule.from), slash,
                          rule.to ? reorg::quoted_path(*rule.to) + slash : "(dropped)");
    }
  }
  return text;
}

void plan(const PlanOptions& options, bool detailed, Context& context) {
  const auto planned = make_plan(context, options);
  if (!planned) return;
  const reorg::Layout& layout = planned->workspace->moves.layout;
  const reorg::Rewriting& rewriting = planned->rewriting;
  Output output;
  output.name = "reorg plan";
  output.judges = true;
  output.findings = planned->findings;
  const std::size_t moves = count_moves(layout, false), drops = count_moves(layout, true);
  output.data["plan"] = planned->workspace->plan.name;
  // Of a large tree the lists take more memory than all else: only for whom they are printed.
  const bool as_text = context.format() == Format::kTable || context.format() == Format::kWide;
  if (!as_text) output.data["moves"] = moves_json(layout, false);
  const bool lists = context.format() == Format::kJson || context.format() == Format::kYaml;
  if (lists) {
    output.data["collided"] = planned->workspace->moves.collided;
    output.data["drops"] = moves_json(layout, true);
    output.data["edits"] = to_json(rewriting.edits);
    output.data["proposals"] = to_json(rewriting.proposals);
    output.data["unclear"] = to_json(rewriting.unclear);
    output.data["dead"] = to_json(rewriting.dead);
    output.data["healed"] = to_json(rewriting.healed);
    output.data["pinned"] = to_json(rewriting.pinned);
    output.data["scanned"] = {{"files", rewriting.files},
                              {"bytes", rewriting.bytes},
                              {"references", rewriting.references}};
    output.data["findings"] = to_json(planned->findings);
  } else {
    const Findings references = reference_findings(rewriting);
    output.findings.insert(output.findings.end(), references.begin(), references.end());
  }
  output.rows = "moves";
  output.columns = {{"repository", "repository"}, {"from", "from"}, {"to", "to"}};
  const bool collided = planned->workspace->moves.collided;
  if (as_text) output.text = (collided ? "" : moves_text(layout)) + findings_text(output.findings);
  context.print(output);
  if (!context.quiet) {
    context.err << fmt::format(
        "{} move, {} dropped; {} rewritten, {} proposed, {} dead before, {} healed\n",
        counted(moves, "file"), drops, counted(rewriting.edits.size(), "reference"),
        rewriting.proposals.size(), rewriting.dead.size(), rewriting.healed.size());
  }
  const bool anything = moves > 0 || !rewriting.edits.empty() || drops > 0;
  if (collided) {
    context.exit_code = kExitFailed;
  } else if (detailed && anything) {
    context.exit_code = kExitDiffers;
  }
}

}  // namespace

void add_reorg_plan(CLI::App& reorg, Context& context) {
  CLI::App* sub = reorg.add_subcommand("plan", "What would move and be rewritten; writes nothing");
  auto options = std::make_shared<PlanOptions>();
  auto detailed = std::make_shared<bool>(false);
  add_plan_options(*sub, *options);
  sub->add_flag("--repair", options->repair,
                "Also rewrite references that are dead already, where renames explain them");
  sub->add_flag("--detailed-exitcode", *detailed, "Exit with 5 when there is anything to do");
  sub->footer(
      "Exit code: 0 planned, 2 the plan, a repository or an object can't be read, 3 two files "
      "would\n"
      "collide.\nExample:\n  muster reorg plan plan.yaml --repo ../samples -o json");
  sub->callback([options, detailed, &context] { plan(*options, *detailed, context); });
}

}  // namespace muster::cli
