// muster plan: what a cluster.yaml comes to, offline.
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>

#include "architectures/plan.h"
#include "base/output.h"
#include "cli/context.h"
#include "facts/facts.h"

namespace muster::cli {
namespace {

void show_plan(Context& context, const std::string& file) {
  const auto known = facts::load_facts(context.files, context.project());
  if (!known) return context.fail(known.findings(), kExitBadInput);
  const auto plan = architectures::plan_file(context.files, context.project(), file, *known);
  if (!plan) return context.fail(plan.findings(), kExitBadInput);
  Output output;
  output.name = "plan";
  output.data.update(architectures::to_json(*plan));
  output.text = architectures::to_text(*plan);
  output.judges = true;
  output.findings = plan->findings;
  context.print(output);
  if (has_errors(plan->findings) && context.exit_code == kExitOk) context.exit_code = kExitFailed;
}

}  // namespace

void add_plan(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand(
      "plan", "What a cluster.yaml comes to: stacks, parameters, addresses, interfaces, findings");
  sub->group("Clusters");
  sub->footer(
      "Asks nobody: it works without an account. Exit code 3 when something does not go together.\n"
      "Example:\n  muster plan -f architectures/vpc_network/examples/one-zone/cluster.yaml");
  auto file = std::make_shared<std::string>("cluster.yaml");
  sub->add_option("-f,--file", *file, "The cluster's file")
      ->type_name("FILE")
      ->capture_default_str();
  sub->callback([file, &context] { show_plan(context, *file); });
}

}  // namespace muster::cli
