#include "cli/kind_runs.h"

#include <fmt/format.h>

#include "runs/run_store.h"
#include "runs/run_view.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

// A folder that nobody named and that is not there is simply a project without runs. One that
// somebody named and that is not there is a mistake: "no runs" would hide it.
Result<bool> has_store(const Context& context) {
  const auto info = context.files.info(context.runs_dir());
  if (info) return true;
  const Setting& setting = context.settings.all().at("runs_dir");
  if (setting.origin == "default") return false;
  return failure("runs-missing", fmt::format("{}: no such directory", setting.value),
                 "runs_dir comes from " + setting.origin);
}

}  // namespace

std::vector<OutputColumn> run_columns() {
  return runs::run_item_columns();
}

Result<Json> list_runs(const Context& context) {
  const auto there = has_store(context);
  if (!there) return there.error();
  Json items = Json::array();
  if (!*there) return items;
  auto store = runs::RunStore::open(context.runs_dir(), context.clock);
  if (!store) return store.error();
  const auto records = store->list();
  if (!records) return records.error();
  for (const runs::RunRecord& record : *records) items.push_back(runs::run_item(record));
  return items;
}

Result<Shown> show_run(const Context& context, const std::string& name) {
  const auto there = has_store(context);
  if (!there) return there.error();
  if (!*there) {
    return failure("unknown-name", fmt::format("unknown run \"{}\"", name),
                   "there are no runs in this project");
  }
  auto store = runs::RunStore::open(context.runs_dir(), context.clock);
  if (!store) return store.error();
  const auto record = store->find(name);
  if (!record) return record.error();
  auto details = runs::run_details(*record);
  if (!details) return details.error();
  return Shown{std::move(details->data), std::move(details->text)};
}

}  // namespace muster::cli
