#include "cli/kind_checks.h"

#include "facts/reading.h"
#include "health/checks.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

Json of(const health::Suite& suite) {
  return {{"name", suite.name},
          {"kind", "suite"},
          {"description", suite.doc},
          {"checks", suite.checks}};
}

Json of(const health::CheckKind& check) {
  return {
      {"name", check.name}, {"kind", "check"}, {"description", check.doc}, {"reads", check.reads}};
}

}  // namespace

std::vector<OutputColumn> check_columns() {
  return {{"NAME", "name"},
          {"KIND", "kind"},
          {"DESCRIPTION", "description"},
          {"READS", "reads", true},
          {"CHECKS", "checks", true}};
}

Result<Json> list_checks(const Context& /*context*/) {
  Json items = Json::array();
  for (const health::Suite& suite : health::suites()) items.push_back(of(suite));
  for (const health::CheckKind& check : health::check_kinds()) items.push_back(of(check));
  return items;
}

Result<Shown> show_check(const Context& /*context*/, const std::string& name) {
  std::vector<std::string> names;
  for (const health::Suite& suite : health::suites()) {
    if (name == suite.name) return Shown{of(suite), {}};
    names.emplace_back(suite.name);
  }
  for (const health::CheckKind& check : health::check_kinds()) {
    if (name == check.name) return Shown{of(check), {}};
    names.emplace_back(check.name);
  }
  return facts::unknown_name("check", name, names);
}

}  // namespace muster::cli
