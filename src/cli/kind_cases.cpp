#include "cli/kind_cases.h"

#include "catalog/case.h"
#include "catalog/case_schema.h"

namespace muster::cli {

using Json = nlohmann::ordered_json;

std::vector<OutputColumn> case_columns() {
  return {{"NAME", "name"},
          {"DEFAULT", "default"},
          {"KIND", "kind", true},
          {"FRAMEWORK", "framework", true},
          {"MODEL", "model", true},
          {"PROFILES", "profiles"},
          {"RENDERS", "renders", true},
          {"SUBMITS", "submits", true},
          {"RUNS HERE", "runs_here", true},
          {"NEEDS", "needs", true},
          {"STATE", "state", true},
          {"PROBLEMS", "problem_count", true, true},
          {"FILE", "file", true},
          {"DESCRIPTION", "description"}};
}

Result<Json> list_case_items(const Context& context) {
  const auto entries = catalog::list_cases(context.files, context.project());
  if (!entries) return entries.error();
  Json items = Json::array();
  for (const catalog::CaseEntry& entry : *entries) {
    Json item = {{"name", entry.name}};
    if (entry.is_default) item["default"] = true;
    item["kind"] = entry.kind;
    item["framework"] = entry.framework;
    item["library"] = entry.library;
    item["model"] = entry.model;
    item["profiles"] = entry.profiles;
    item["file"] = entry.file.string();
    item["description"] = entry.description;
    item["renders"] = entry.coverage.renders;
    item["submits"] = entry.coverage.submits;
    item["runs_here"] = entry.coverage.runs_here;
    item["needs"] = entry.coverage.needs;
    item["state"] = entry.coverage.state();
    item["problem_count"] = entry.problems.size();
    if (!entry.problems.empty()) item["problems"] = to_json(entry.problems);
    items.push_back(std::move(item));
  }
  return items;
}

Result<Shown> show_case(const Context& context, const std::string& name) {
  const auto resolved = catalog::load_case(context.files, context.project(), name, "", {});
  if (!resolved) return resolved.error();
  Shown shown;
  shown.data = {{"name", resolved->values.name},
                {"file", resolved->file.string()},
                {"manifest", catalog::case_schema().to_json(resolved->manifest)}};
  Json origins = Json::object();
  for (const auto& [key, origin] : resolved->origins) {
    origins[key] =
        origin.kind == catalog::Origin::Kind::kDefault
            ? "default"
            : std::string(catalog::to_string(origin.kind)) + " " + to_string(origin.where);
  }
  shown.data["origins"] = std::move(origins);
  if (!resolved->warnings.empty()) shown.data["warnings"] = to_json(resolved->warnings);
  shown.text = "# " + resolved->file.string() + "\n" + to_yaml(resolved->manifest);
  return shown;
}

}  // namespace muster::cli
