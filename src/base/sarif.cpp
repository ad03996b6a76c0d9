#include "base/sarif.h"

#include <map>
#include <set>
#include <string_view>

#include "base/text.h"

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

/// Texts of the files that findings name, each read once.
class Texts {
 public:
  explicit Texts(const TextOf& text_of) : text_of_(text_of) {}

  /// The column in code points from 1, or nothing when the line is not there.
  std::optional<int> column(const Position& where) {
    const auto [entry, added] = texts_.try_emplace(where.file.str());
    if (added && text_of_) entry->second = text_of_(where.file);
    if (!entry->second) return std::nullopt;
    std::string_view rest = *entry->second;
    for (int line = 1; line < where.line; ++line) {
      const std::size_t end = rest.find('\n');
      if (end == std::string_view::npos) return std::nullopt;
      rest.remove_prefix(end + 1);
    }
    return code_points_before(rest.substr(0, rest.find('\n')), where.column) + 1;
  }

 private:
  // A byte that is no UTF-8 counts as one, as viewers show it. A column behind the end stays that
  // far behind it.
  static int code_points_before(std::string_view line, int column) {
    const auto end = static_cast<std::size_t>(column - 1);
    int count = 0;
    std::size_t at = 0;
    while (at < end) {
      const std::size_t length = at < line.size() ? utf8_length(line, at) : 1;
      at += length == 0 ? 1 : length;
      if (at <= end) ++count;  // a column within a character is the character's
    }
    return count;
  }

  const TextOf& text_of_;
  std::map<std::string, std::optional<std::string>> texts_;
};

Json location(const Position& where, Texts& texts) {
  Json physical;
  physical["artifactLocation"]["uri"] = uri(where.file.str());
  if (where.line > 0) {
    physical["region"]["startLine"] = where.line;
    if (where.column > 0) {
      if (const auto column = texts.column(where)) physical["region"]["startColumn"] = *column;
    }
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

Json result_of(const Finding& finding, Texts& texts) {
  std::string text = finding.message;
  if (!finding.hint.empty()) text += "; " + finding.hint;
  Json result{
      {"ruleId", finding.rule}, {"level", level(finding.severity)}, {"message", {{"text", text}}}};
  if (!finding.where.file.empty())
    result["locations"] = Json::array({location(finding.where, texts)});
  return result;
}

}  // namespace

Json to_sarif(const std::vector<Check>& checks, const Findings& findings, const TextOf& text_of) {
  Texts texts(text_of);
  std::set<std::string> rules;
  Json results = Json::array();
  for (const Check& check : checks) {
    rules.insert(check.name);
    results.push_back(result_of(check));
  }
  for (const Finding& finding : findings) {
    rules.insert(finding.rule);
    results.push_back(result_of(finding, texts));
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
