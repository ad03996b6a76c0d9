#include "base/sarif.h"

#include <set>
#include <string_view>

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

/// A path as the URI of an artifact: what is not allowed in one is percent-encoded.
std::string uri(std::string_view path) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  static constexpr std::string_view kAllowed = "-._~/!$&'()*+,;=@";
  std::string result = path.substr(0, 1) == "/" ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (plain || kAllowed.find(c) != std::string_view::npos) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return result;
}

const char* level(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "error";
}

Json location(const Position& where) {
  Json physical;
  physical["artifactLocation"]["uri"] = uri(where.file);
  if (where.line > 0) {
    physical["region"]["startLine"] = where.line;
    if (where.column > 0) physical["region"]["startColumn"] = where.column;
  }
  return Json{{"physicalLocation", physical}};
}

Json result_of(const Check& check) {
  const char* kind = check.outcome == Outcome::kPass   ? "pass"
                     : check.outcome == Outcome::kFail ? "fail"
                                                       : "open";
  return {{"ruleId", check.name},
          {"kind", kind},
          {"level", check.outcome == Outcome::kFail ? "error" : "none"},
          {"message", {{"text", check.evidence}}}};
}

Json result_of(const Finding& finding) {
  std::string text = finding.message;
  if (!finding.hint.empty()) text += "; " + finding.hint;
  Json result{
      {"ruleId", finding.rule}, {"level", level(finding.severity)}, {"message", {{"text", text}}}};
  if (!finding.where.file.empty()) result["locations"] = Json::array({location(finding.where)});
  return result;
}

}  // namespace

Json to_sarif(const std::vector<Check>& checks, const Findings& findings) {
  std::set<std::string> rules;
  Json results = Json::array();
  for (const Check& check : checks) {
    rules.insert(check.name);
    results.push_back(result_of(check));
  }
  for (const Finding& finding : findings) {
    rules.insert(finding.rule);
    results.push_back(result_of(finding));
  }
  Json rule_list = Json::array();
  for (const std::string& rule : rules) rule_list.push_back(Json{{"id", rule}});
  Json run;
  run["tool"]["driver"] = Json{{"name", "muster"}, {"rules", rule_list}};
  run["columnKind"] = "unicodeCodePoints";
  run["results"] = results;
  Json sarif;
  sarif["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  sarif["version"] = "2.1.0";
  sarif["runs"] = Json::array({run});
  return sarif;
}

}  // namespace muster
