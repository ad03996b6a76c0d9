#include "cli/compare.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::clitest {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start) + (end == text.size() ? "\\ no line end" : ""));
    start = end + 1;
  }
  return lines;
}

/// Length of the longest common subsequence of the tails a[i…] and b[j…].
std::vector<std::vector<int>> common_lengths(const std::vector<std::string>& a,
                                             const std::vector<std::string>& b) {
  std::vector<std::vector<int>> length(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      length[i][j] =
          a[i] == b[j] ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  return length;
}

const nlohmann::json* find_member(const nlohmann::json& value, const std::string& name) {
  if (value.is_object()) {
    const auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
  }
  const bool number =
      !name.empty() && name.size() < 7 && name.find_first_not_of("0123456789") == std::string::npos;
  if (!value.is_array() || !number || std::stoul(name) >= value.size()) return nullptr;
  return &value[std::stoul(name)];
}

/// The value at a dotted path, or nothing.
std::optional<nlohmann::json> value_at(const nlohmann::json& document, const std::string& path) {
  const nlohmann::json* value = &document;
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    const std::string name = path.substr(start, end - start);
    if (name == "#" && (value->is_array() || value->is_object()))
      return nlohmann::json(value->size());
    value = find_member(*value, name);
    if (value == nullptr) return std::nullopt;
    start = end + 1;
  }
  return *value;
}

}  // namespace

std::string difference(const std::string& expected, const std::string& got) {
  if (expected == got) return {};
  const auto a = lines_of(expected);
  const auto b = lines_of(got);
  if (a.size() * b.size() > 4'000'000)
    return "    the texts differ, and are too long to compare line by line\n";
  const auto length = common_lengths(a, b);
  std::string text;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      text += "      " + a[i] + "\n";
      ++i;
      ++j;
    } else if (j == b.size() || (i < a.size() && length[i + 1][j] >= length[i][j + 1])) {
      text += "    - " + a[i++] + "\n";
    } else {
      text += "    + " + b[j++] + "\n";
    }
  }
  return text;
}

std::string difference_by_pattern(const std::string& patterns, const std::string& got) {
  const auto a = lines_of(patterns);
  const auto b = lines_of(got);
  std::string text;
  bool same = a.size() == b.size();
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const bool both = i < a.size() && i < b.size();
    if (both && std::regex_match(b[i], std::regex(a[i]))) {
      text += "      " + b[i] + "\n";
      continue;
    }
    same = false;
    if (i < a.size()) text += "    ~ " + a[i] + "\n";
    if (i < b.size()) text += "    + " + b[i] + "\n";
  }
  return same ? std::string() : text;
}

std::string missing_parts(const std::string& parts, const std::string& got, bool lacks) {
  std::string text;
  for (const std::string& part : lines_of(parts)) {
    if ((got.find(part) == std::string::npos) == lacks) continue;
    text += fmt::format("    {} '{}'\n", lacks ? "must not contain" : "does not contain", part);
  }
  if (!text.empty()) {
    text += "    got:\n";
    for (const std::string& line : lines_of(got)) text += "      " + line + "\n";
  }
  return text;
}

std::string json_difference(const std::string& condition, const std::string& json) {
  const std::size_t first = condition.find(' ');
  if (first == std::string::npos || first + 3 > condition.size()) return "    write PATH = VALUE\n";
  const std::string path = condition.substr(0, first);
  const char how = condition[first + 1];
  const std::string wanted = first + 3 < condition.size() ? condition.substr(first + 3) : "";
  const auto document = nlohmann::json::parse(json, nullptr, false);
  if (document.is_discarded()) return "    standard output is not JSON:\n" + difference("", json);
  const auto value = value_at(document, path);
  if (!value) return fmt::format("    {}: there is no such value\n", path);
  const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
  if (how == '~') {
    if (std::regex_search(text, std::regex(wanted))) return {};
    return fmt::format("    {} is {}, which does not match {}\n", path, text, wanted);
  }
  const auto literal = nlohmann::json::parse(wanted, nullptr, false);
  if (literal.is_discarded() ? text == wanted : *value == literal) return {};
  return fmt::format("    {} is {}, expected {}\n", path, value->dump(), wanted);
}

}  // namespace muster::clitest
