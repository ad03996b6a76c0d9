#include "cli/kind_runs.h"

#include <fmt/format.h>

#include "runs/run_store.h"

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

Json record_json(const runs::RunRecord& record) {
  const nlohmann::json stored = runs::to_json(record);
  Json json = {{"name", record.id}};
  for (const auto& [key, value] : stored.items()) {
    if (key != "schema_version") json[key] = value;
  }
  return json;
}

// The verdict as the run left it; nothing when there is none yet.
Json verdict_of(const Context& context, const runs::RunRecord& record) {
  const auto text = context.files.read(record.directory / "verdict.json");
  if (!text) return nullptr;
  Json verdict = Json::parse(*text, nullptr, false);
  return verdict.is_discarded() ? Json() : verdict;
}

std::string text_of(const runs::RunRecord& record, const Json& verdict) {
  std::string text = fmt::format("{:<10}{}\n{:<10}{}\n{:<10}{}\n", "run", record.id, "case",
                                 record.case_name, "state", to_string(record.state));
  if (!record.note.empty()) text += fmt::format("{:<10}{}\n", "note", record.note);
  text += fmt::format("{:<10}{}{}\n", "target", record.target,
                      record.profile.empty() ? "" : ", profile " + record.profile);
  text += fmt::format("{:<10}{} ranks on {} node{}\n", "world", record.world, record.nodes,
                      record.nodes == 1 ? "" : "s");
  text += fmt::format("{:<10}{}\n", "created", to_rfc3339(record.created));
  if (record.ended) text += fmt::format("{:<10}{}\n", "ended", to_rfc3339(*record.ended));
  text += fmt::format("{:<10}{}\n", "directory", record.directory.string());
  if (record.outcome) text += fmt::format("{:<10}{}\n", "verdict", to_string(*record.outcome));
  if (!verdict.is_object() || !verdict.contains("checks") || !verdict["checks"].is_array())
    return text;
  for (const Json& check : verdict["checks"]) {
    if (!check.is_object()) continue;
    text += fmt::format("  {:<8} {:<20} {}\n", check.value("outcome", ""), check.value("name", ""),
                        check.value("evidence", ""));
  }
  return text;
}

}  // namespace

std::vector<OutputColumn> run_columns() {
  return {{"NAME", "name"},       {"CASE", "case"},
          {"PROFILE", "profile"}, {"TARGET", "target"},
          {"STATE", "state"},     {"WORLD", "world", true, true},
          {"CREATED", "created"}, {"ENDED", "ended", true},
          {"NOTE", "note", true}, {"DIRECTORY", "directory", true}};
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
  for (const runs::RunRecord& record : *records) items.push_back(record_json(record));
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
  Shown shown{record_json(*record), {}};
  const Json verdict = verdict_of(context, *record);
  if (!verdict.is_null()) shown.data["verdict"] = verdict;
  shown.text = text_of(*record, verdict);
  return shown;
}

}  // namespace muster::cli
