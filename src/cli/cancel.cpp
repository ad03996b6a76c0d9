// cancel: end a run, whoever follows it.
#include <memory>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>

#include "base/output.h"
#include "cli/context.h"
#include "launch/control.h"

namespace muster::cli {
namespace {

void cancel(const std::string& name, Context& context) {
  auto store = runs::RunStore::open(context.runs_dir(), context.clock);
  if (!store) return context.fail(store.findings(), kExitInternal);
  const auto record = store->find(name);
  if (!record) return context.fail(record.findings(), kExitBadInput);
  const auto done =
      launch::cancel_run(*store, *record, {context.files, context.processes, context.clock});
  if (!done)
    return context.fail(done.findings(), interrupted() ? kExitInterrupted : kExitUnverified);
  Output output;
  output.name = "cancel";
  output.data["run"] = record->id;
  output.data["done"] = *done;
  output.text = *done + "\n";
  context.print(output);
}

}  // namespace

void add_cancel(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("cancel", "End a run that has not ended");
  sub->group("Runs");
  auto name = std::make_shared<std::string>();
  sub->add_option("run", *name, "Id of the run, the start of one, its directory, or 'last'")
      ->type_name("RUN")
      ->required();
  sub->callback([name, &context] { cancel(*name, context); });
}

}  // namespace muster::cli
