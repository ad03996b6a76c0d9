#include "reorg/path_rules.h"

#include <algorithm>
#include <optional>

#include "reorg/paths.h"

namespace muster::reorg {
namespace {

/// The bracket expression at pattern[at] against a character; `at` moves behind it.
bool bracket_matches(std::string_view pattern, std::size_t& at, char c) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool matched = false, first = true;
  for (; i < pattern.size() && (first || pattern[i] != ']'); ++i) {
    first = false;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      matched = matched || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      matched = matched || pattern[i] == c;
    }
  }
  at = std::min(i + 1, pattern.size());
  return matched != negated;
}

/// One component; linear by remembering the last star only.
bool name_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    std::size_t next = p;
    bool matched = false;
    if (p < pattern.size()) {
      if (pattern[p] == '*') {
        star = p++;
        resume = n;
        continue;
      }
      if (pattern[p] == '[' && pattern.find(']', p + 1) != std::string_view::npos) {
        matched = bracket_matches(pattern, next, name[n]);
      } else if (pattern[p] == '\\' && p + 1 < pattern.size()) {
        matched = pattern[p + 1] == name[n];
        next = p + 2;
      } else {
        matched = pattern[p] == '?' || pattern[p] == name[n];
        next = p + 1;
      }
    }
    if (matched) {
      p = next;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<PathRule> parse_rule(std::string_view directory, std::string_view pattern) {
  PathRule rule;
  rule.directory = directory;
  if (!pattern.empty() && pattern.front() == '!') {
    rule.negated = true;
    pattern.remove_prefix(1);
  }
  if (pattern.empty()) return std::nullopt;
  if (pattern.back() == '/') {
    rule.directories_only = true;
    pattern.remove_suffix(1);
  }
  rule.anchored = pattern.find('/') != std::string_view::npos;
  if (!pattern.empty() && pattern.front() == '/') pattern.remove_prefix(1);
  if (pattern.empty()) return std::nullopt;
  rule.pattern = pattern;
  return rule;
}

/// Lines without their ends.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

/// The first word, which may be in quotes or hold escaped spaces, and what follows it.
std::pair<std::string, std::string_view> first_word(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin);
  if (line.front() == '"') {
    const std::size_t end = line.find('"', 1);
    if (end == std::string_view::npos) return {};
    return {std::string(line.substr(1, end - 1)), line.substr(end + 1)};
  }
  std::size_t end = 0;
  while (end < line.size() && line[end] != ' ' && line[end] != '\t')
    end += line[end] == '\\' ? 2 : 1;
  end = std::min(end, line.size());
  return {std::string(line.substr(0, end)), line.substr(end)};
}

/// The directories around a path, the root first.
std::vector<std::string_view> directories_around(std::string_view path) {
  std::vector<std::string_view> result;
  for (std::string_view at = parent_of(path);; at = parent_of(at)) {
    result.push_back(at);
    if (at.empty()) break;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view path) {
  const auto patterns = components(pattern), parts = components(path);
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < parts.size()) {
    if (p < patterns.size() && patterns[p] == "**") {
      star = p++;
      resume = n;
    } else if (p < patterns.size() && name_matches(patterns[p], parts[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < patterns.size() && patterns[p] == "**") ++p;
  return p == patterns.size();
}

bool PathRule::matches(std::string_view path, bool is_directory) const {
  if (directories_only && !is_directory) return false;
  if (!is_under(path, directory)) return false;
  return anchored ? glob_matches(pattern, below(path, directory))
                  : name_matches(pattern, name_of(path));
}

void IgnoreRules::add(std::string_view directory, std::string_view content) {
  std::vector<PathRule>& rules = by_directory_[std::string(directory)];
  for (std::string_view line : lines_of(content)) {
    while (!line.empty() && line.back() == ' ' &&
           (line.size() < 2 || line[line.size() - 2] != '\\')) {
      line.remove_suffix(1);
    }
    if (line.empty() || line.front() == '#') continue;
    if (auto rule = parse_rule(directory, line)) rules.push_back(std::move(*rule));
  }
}

bool IgnoreRules::excluded(std::string_view path, bool is_directory) const {
  // The deepest file's last match decides.
  const auto around = directories_around(path);
  for (auto directory = around.rbegin(); directory != around.rend(); ++directory) {
    const auto rules = by_directory_.find(*directory);
    if (rules == by_directory_.end()) continue;
    for (auto rule = rules->second.rbegin(); rule != rules->second.rend(); ++rule) {
      if (rule->matches(path, is_directory)) return !rule->negated;
    }
  }
  return false;
}

bool IgnoreRules::ignored(std::string_view path) const {
  if (by_directory_.empty()) return false;
  for (const std::string_view directory : directories_around(path)) {
    if (directory.empty()) continue;
    auto known = directories_.find(directory);
    if (known == directories_.end()) {
      known = directories_.emplace(std::string(directory), excluded(directory, true)).first;
    }
    if (known->second) return true;  // nothing in an ignored directory comes back
  }
  return excluded(path, false);
}

void AttributeRules::add(std::string_view directory, std::string_view content) {
  std::vector<PathRule>& rules = by_directory_[std::string(directory)];
  for (const std::string_view line : lines_of(content)) {
    const auto [pattern, rest] = first_word(line);
    if (pattern.empty() || pattern.front() == '#' || pattern.front() == '[') continue;
    auto rule = parse_rule(directory, pattern);
    if (!rule) continue;
    rule->value = rest;
    rules.push_back(std::move(*rule));
  }
}

std::string AttributeRules::of(std::string_view path) const {
  std::map<std::string, std::string> attributes;
  for (const std::string_view directory : directories_around(path)) {
    const auto rules = by_directory_.find(directory);
    if (rules == by_directory_.end()) continue;
    for (const PathRule& rule : rules->second) {
      if (!rule.matches(path, false)) continue;
      std::string_view rest = rule.value;
      for (;;) {
        const auto [word, after] = first_word(rest);
        if (word.empty()) break;
        rest = after;
        const std::size_t begin = word.find_first_not_of("-!");
        if (begin == std::string::npos) continue;  // a sign without a name
        const std::string name = word.substr(begin, word.find('=') - begin);
        if (word.front() == '!') {
          attributes.erase(name);
        } else {
          attributes[name] = word;
        }
      }
    }
  }
  std::string text;
  for (const auto& [name, value] : attributes) text += (text.empty() ? "" : " ") + value;
  return text;
}

OwnerRules::OwnerRules(std::string_view content) {
  for (const std::string_view line : lines_of(content)) {
    const auto [pattern, rest] = first_word(line);
    if (pattern.empty() || pattern.front() == '#') continue;
    auto rule = parse_rule("", pattern);
    if (!rule) continue;
    for (std::string_view left = rest;;) {
      const auto [owner, after] = first_word(left);
      if (owner.empty() || owner.front() == '#') break;
      rule->value += (rule->value.empty() ? "" : " ") + owner;
      left = after;
    }
    rules_.push_back(std::move(*rule));
  }
}

std::string OwnerRules::of(std::string_view path) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    // A pattern that names a directory holds for all in it.
    bool matched = rule->matches(path, false);
    for (std::string_view at = parent_of(path); !matched && !at.empty(); at = parent_of(at))
      matched = rule->matches(at, true);
    if (matched) return rule->value;
  }
  return {};
}

}  // namespace muster::reorg
