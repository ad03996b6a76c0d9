// muster deploy, diff, destroy: a cluster.yaml in an account. Without --yes nothing is done there.
#include "cli/cluster_verbs.h"

#include <memory>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "architectures/deploy.h"
#include "architectures/plan.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/schema.h"
#include "facts/facts.h"

namespace muster::cli {
namespace {

using architectures::ClusterReport;
using architectures::Plan;

struct ClusterVerb {
  std::string file = "cluster.yaml", limit = "2h";
  bool yes = false, drift = false;
};

/// The plan, or nothing and the failure is said.
std::optional<Plan> plan_of(Context& context, const std::string& file) {
  const auto known = facts::load_facts(context.files, context.project());
  if (!known) {
    context.fail(known.findings(), kExitBadInput);
    return std::nullopt;
  }
  auto plan = architectures::plan_file(context.files, context.project(), file, *known);
  if (!plan) {
    context.fail(plan.findings(), kExitBadInput);
    return std::nullopt;
  }
  if (has_errors(plan->findings)) {
    context.fail(plan->findings, kExitFailed);
    return std::nullopt;
  }
  return std::move(*plan);
}

/// Where what is sent, and the journal, are kept: beside the runs.
std::filesystem::path state_of(const Context& context, const Plan& plan) {
  return context.directory / context.runs_dir().parent_path() / "clusters" / plan.cluster.name;
}

void print_report(Context& context, const char* verb, const ClusterReport& report) {
  Output output;
  output.name = verb;
  output.data.update(architectures::to_json(report));
  output.text = architectures::to_text(report);
  output.judges = true;
  output.findings = report.findings;
  context.print(output);
  // Last, so that the last line is why it failed.
  if (!report.findings.empty()) return context.fail(report.findings, report.code);
  if (context.exit_code == kExitOk) context.exit_code = report.code;
}

void print_plan(Context& context, const char* verb, const Plan& plan, const std::string& text) {
  Output output;
  output.name = verb;
  output.data.update(architectures::to_json(plan));
  output.data["done"] = false;
  output.text = text;
  output.judges = true;
  output.findings = plan.findings;
  context.print(output);
}

bool is_limit(Context& context, const ClusterVerb& request, std::chrono::seconds& limit) {
  const auto seconds = parse_duration(request.limit);
  if (seconds && *seconds > 0) {
    limit = std::chrono::seconds(static_cast<std::int64_t>(*seconds));
    return true;
  }
  context.fail({error_at({}, "cluster-limit", fmt::format("--limit {} is no time", request.limit),
                         "as in 90s, 30m, 2h")},
               kExitBadInput);
  return false;
}

std::string destroy_text(const Plan& plan) {
  std::string text = "would delete, of the stacks that carry the tag of this cluster:\n";
  for (auto stack = plan.stacks.rbegin(); stack != plan.stacks.rend(); ++stack) {
    text += "  " + stack->name + "\n";
    if (!stack->keeps.empty()) text += fmt::format("    keeps {}\n", fmt::join(stack->keeps, ", "));
  }
  return text + "nothing was done; --yes does it\n";
}

enum class Act { kDeploy, kDiff, kDestroy };

void act_on_cluster(Context& context, const ClusterVerb& request, Act act) {
  const auto plan = plan_of(context, request.file);
  if (!plan) return;
  architectures::DeployOptions options;
  if (!is_limit(context, request, options.limit)) return;
  if (act == Act::kDeploy && !request.yes)
    return print_plan(context, "deploy", *plan,
                      architectures::to_text(*plan) + "\nnothing was done; --yes does it\n");
  if (act == Act::kDestroy && !request.yes)
    return print_plan(context, "destroy", *plan, destroy_text(*plan));
  options.state = state_of(context, *plan);
  options.drift = request.drift;
  Progress progress(context.err, context.clock, context.show_progress());
  options.progress = [&progress](const std::string& stack, double done, const std::string& note) {
    progress.update(stack, done, note);
  };
  const architectures::DeploySeams seams{context.files, context.processes, context.clock};
  const ClusterReport report = act == Act::kDeploy ? architectures::deploy(*plan, seams, options)
                               : act == Act::kDiff ? architectures::compare(*plan, seams, options)
                                                   : architectures::destroy(*plan, seams, options);
  progress.clear();
  print_report(context,
               act == Act::kDeploy ? "deploy"
               : act == Act::kDiff ? "diff"
                                   : "destroy",
               report);
}

CLI::App* add_cluster_verb(CLI::App& root, Context& context, const char* name, const char* help,
                           Act act) {
  CLI::App* sub = root.add_subcommand(name, help);
  sub->group("Clusters");
  auto request = std::make_shared<ClusterVerb>();
  sub->add_option("-f,--file", request->file, "The cluster's file")
      ->type_name("FILE")
      ->capture_default_str();
  sub->add_option("--limit", request->limit, "How long one stack may take")
      ->type_name("TIME")
      ->capture_default_str();
  if (act == Act::kDiff) {
    sub->add_flag("--drift", request->drift,
                  "Let AWS look whether resources were changed by hand; takes minutes");
  } else {
    sub->add_flag("--yes", request->yes, "Do it; without, it is only shown");
  }
  sub->callback([request, act, &context] { act_on_cluster(context, *request, act); });
  return sub;
}

}  // namespace

void show_cluster_status(Context& context, const std::string& file) {
  const auto plan = plan_of(context, file);
  if (!plan) return;
  print_report(context, "status",
               architectures::look(*plan, {context.files, context.processes, context.clock}));
}

void add_deploy(CLI::App& root, Context& context) {
  add_cluster_verb(root, context, "deploy", "Create or update the stacks of a cluster, in order",
                   Act::kDeploy)
      ->footer(
          "Without --yes the plan is shown and nothing is done. What is there already is left as "
          "it "
          "is; a deployment that was cut off goes on.\nExit code 3: a stack failed, and the last "
          "line is the failing resource's own reason.\nExample:\n  muster deploy -f cluster.yaml "
          "--yes");
}

void add_diff(CLI::App& root, Context& context) {
  add_cluster_verb(root, context, "diff", "What differs between a cluster's file and its stacks",
                   Act::kDiff)
      ->footer("Exit code 5 when something does.\nExample:\n  muster diff -f cluster.yaml");
}

void add_destroy(CLI::App& root, Context& context) {
  add_cluster_verb(root, context, "destroy", "Delete the stacks of a cluster, last first",
                   Act::kDestroy)
      ->footer(
          "Only stacks that carry the tag of this cluster are deleted. Without --yes they are "
          "shown "
          "and nothing is done.\nExample:\n  muster destroy -f cluster.yaml --yes");
}

}  // namespace muster::cli
