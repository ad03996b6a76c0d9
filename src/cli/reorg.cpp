// muster reorg VERB: reorganises a repository without breaking what points into it.
#include "cli/reorg.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "reorg/effects.h"
#include "reorg/paths.h"
#include "reorg/repair.h"

namespace muster::cli {

using Json = nlohmann::ordered_json;

void add_repository_option(CLI::App& sub, std::string& repository) {
  sub.add_option("--repo", repository, "The repository, or a folder in it; default: here")
      ->type_name("DIR");
}

void add_plan_options(CLI::App& sub, PlanOptions& options) {
  sub.add_option("plan", options.plan, "The plan")->required()->type_name("PLAN.yaml");
  add_repository_option(sub, options.repository);
  sub.add_option("--rev", options.revision, "The commit that is planned from; default: HEAD")
      ->type_name("REV");
  sub.add_option("--threads", options.threads, "Threads that read; default: one a processor")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

namespace {

/// Moves what the history explains from the dead references to the edits.
Result<void> repair(Planned& planned) {
  const reorg::Workspace& workspace = *planned.workspace;
  auto renames = workspace.repositories[0].renames(workspace.commits[0]);
  if (!renames) return renames.error();
  const reorg::RenameChains chains(std::move(*renames), workspace.world->tree(0));
  auto& dead = planned.rewriting.dead;
  std::vector<reorg::Placed> repairs = reorg::find_repairs(*workspace.world, chains, dead);
  const auto repaired = [&](const reorg::Placed& placed) {
    return std::any_of(repairs.begin(), repairs.end(), [&](const reorg::Placed& other) {
      return other.file.file == placed.file.file && other.file.side == placed.file.side &&
             other.reference.offset == placed.reference.offset;
    });
  };
  dead.erase(std::remove_if(dead.begin(), dead.end(), repaired), dead.end());
  for (reorg::Placed& each : repairs) {
    each.reference.standing = reorg::Standing::kAlive;
    planned.rewriting.edits.push_back(std::move(each));
  }
  return {};
}

}  // namespace

std::optional<Planned> make_plan(Context& context, const PlanOptions& options) {
  Planned planned;
  auto workspace = reorg::open_workspace(
      context.files,
      {options.plan, context.directory / options.repository, options.revision, options.merge_only});
  if (!workspace) {
    context.fail(workspace.findings(), kExitBadInput);
    return std::nullopt;
  }
  planned.workspace = std::move(*workspace);
  planned.findings = planned.workspace->moves.findings;
  if (has_errors(planned.findings) && !planned.workspace->moves.collided) {
    context.fail(planned.findings, kExitBadInput);
    return std::nullopt;
  }
  const reorg::OpenReader open = planned.workspace->reader();
  auto rewriting = reorg::find_rewriting(*planned.workspace->world, open, {options.threads});
  if (!rewriting) {
    context.fail(rewriting.findings(), kExitBadInput);
    return std::nullopt;
  }
  planned.rewriting = std::move(*rewriting);
  if (options.repair) {
    if (const auto repaired = repair(planned); !repaired) {
      context.fail(repaired.findings(), kExitBadInput);
      return std::nullopt;
    }
  }
  const auto read = open();
  if (!read) {
    context.fail(read.findings(), kExitBadInput);
    return std::nullopt;
  }
  const Findings effects = reorg::find_effects(*planned.workspace->world, *read, planned.rewriting);
  for (const Findings* more : {&effects, &std::as_const(planned.rewriting.unread)})
    planned.findings.insert(planned.findings.end(), more->begin(), more->end());
  return planned;
}

Json to_json(const std::vector<reorg::Placed>& references) {
  Json list = Json::array();
  for (const reorg::Placed& placed : references) {
    const reorg::Reference& reference = placed.reference;
    Json item{{"file", placed.path.str()},
              {"line", placed.line},
              {"column", placed.column},
              {"kind", reference.kind},
              {"span", {{"offset", reference.offset}, {"length", reference.text.size()}}},
              {"old", reference.text}};
    if (reference.replacement) item["new"] = *reference.replacement;
    item["target"] = reference.target;
    item["reason"] = reference.reason;
    item["confidence"] = reorg::to_string(reference.confidence);
    list.push_back(std::move(item));
  }
  return list;
}

namespace {

/// Calls with side and file of what moves, or of what is dropped.
template <typename Call>
void each_move(const reorg::Layout& layout, bool dropped, const Call& call) {
  for (std::size_t s = 0; s < layout.sides.size(); ++s) {
    const reorg::Side& side = layout.sides[s];
    for (std::size_t i = 0; i < side.images.size(); ++i) {
      const bool is_dropped = !side.images[i] && side.rules[i] != nullptr;
      if (dropped ? is_dropped : side.images[i] && (s > 0 || side.moved(i))) call(s, i);
    }
  }
}

}  // namespace

Json moves_json(const reorg::Layout& layout, bool dropped) {
  Json list = Json::array();
  each_move(layout, dropped, [&](std::size_t s, std::size_t i) {
    const reorg::Side& side = layout.sides[s];
    Json item = Json::object();
    if (s > 0) item["repository"] = side.plan->name;
    item["from"] = side.tree.files()[i].path;
    if (!dropped) item["to"] = *side.images[i];
    list.push_back(std::move(item));
  });
  return list;
}

std::size_t count_moves(const reorg::Layout& layout, bool dropped) {
  std::size_t count = 0;
  each_move(layout, dropped, [&](std::size_t, std::size_t) { ++count; });
  return count;
}

Findings reference_findings(const reorg::Rewriting& rewriting) {
  Findings findings;
  const auto add = [&](const std::vector<reorg::Placed>& list, Severity severity, const char* rule,
                       const auto& message) {
    for (const reorg::Placed& placed : list)
      findings.push_back({severity,
                          rule,
                          {placed.path, placed.line, placed.column},
                          message(placed.reference),
                          placed.reference.reason});
  };
  const auto changes = [](const reorg::Reference& reference) {
    return reference.replacement
               ? fmt::format("{} '{}' -> '{}'", reference.kind, reorg::quoted_path(reference.text),
                             reorg::quoted_path(*reference.replacement))
               : fmt::format("{} '{}'", reference.kind, reorg::quoted_path(reference.text));
  };
  const auto leads = [](const char* what) {
    return [what](const reorg::Reference& reference) {
      return fmt::format("{} '{}' {}", reference.kind, reorg::quoted_path(reference.text), what);
    };
  };
  add(rewriting.edits, Severity::kInfo, "reorg-edit", changes);
  add(rewriting.proposals, Severity::kWarning, "reorg-proposal", changes);
  add(rewriting.unclear, Severity::kWarning, "reorg-unclear", leads("can't be read"));
  add(rewriting.dead, Severity::kInfo, "reorg-dead", leads("was dead before"));
  add(rewriting.healed, Severity::kInfo, "reorg-healed", leads("is healed by the plan"));
  return findings;
}

std::string findings_text(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

void add_reorg(CLI::App& root, Context& context) {
  CLI::App* sub =
      root.add_subcommand("reorg", "Reorganise a repository without breaking what points into it");
  sub->group("Repositories");
  sub->require_subcommand(1);
  add_reorg_plan(*sub, context);
  add_reorg_apply(*sub, context);
  add_reorg_verify(*sub, context);
  add_reorg_map(*sub, context);
  add_reorg_consumers(*sub, context);
  add_reorg_stages(*sub, context);
  add_reorg_port(*sub, context);
}

}  // namespace muster::cli
