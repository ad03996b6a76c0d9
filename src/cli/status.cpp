// status: where a run stands now, or a cluster.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "cli/cluster_verbs.h"
#include "cli/context.h"
#include "launch/control.h"

namespace muster::cli {
namespace {

void show_status(const std::string& name, Context& context) {
  auto store = runs::RunStore::open(context.runs_dir(), context.clock);
  if (!store) return context.fail(store.findings(), kExitInternal);
  const auto record = store->find(name);
  if (!record) return context.fail(record.findings(), kExitBadInput);
  const launch::RunStatus status =
      launch::look_at_run(*record, {context.files, context.processes, context.clock});

  Output output;
  output.name = "status";
  nlohmann::ordered_json run = {{"id", record->id},
                                {"case", record->case_name},
                                {"target", record->target},
                                {"state", runs::to_string(record->state)},
                                {"followed", status.followed},
                                {"orphaned", status.orphaned()},
                                {"processes", status.processes},
                                {"step", status.standing.step},
                                {"directory", record->directory.string()}};
  if (status.standing.loss) run["loss"] = *status.standing.loss;
  if (record->outcome) run["outcome"] = to_string(*record->outcome);
  if (status.job || !status.trouble.empty()) {
    auto& job = run[status.scheduler] = nlohmann::ordered_json::object();
    for (const auto& [name, value] : runs::job_names(record->launcher)) job[name] = value;
    if (status.job) job.update(status.job->data);
    if (!status.trouble.empty()) job["trouble"] = status.trouble;
  }
  output.data["run"] = run;
  output.text = fmt::format("{}  {} on {}\n  {}\n", record->id, record->case_name, record->target,
                            launch::describe(status));
  context.print(output);
  if (status.orphaned() && context.exit_code == kExitOk) context.exit_code = kExitUnverified;
}

}  // namespace

void add_status(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("status", "Where a run stands now, or a cluster");
  sub->group("Runs");
  sub->footer(
      "Exit code 4 when the run has not ended and nobody follows it any more; of a cluster, 3 when "
      "a "
      "stack is absent or failed, 4 when one moves or can't be seen.");
  auto name = std::make_shared<std::string>("last");
  sub->add_option("run", *name, "Id of the run, the start of one, its directory, or 'last'")
      ->type_name("RUN")
      ->capture_default_str();
  auto file = std::make_shared<std::string>();
  sub->add_option("-f,--file", *file, "A cluster's file: how its stacks stand")
      ->type_name("FILE")
      ->excludes("run");
  sub->callback([name, file, &context] {
    if (!file->empty()) return show_cluster_status(context, *file);
    show_status(*name, context);
  });
}

}  // namespace muster::cli
