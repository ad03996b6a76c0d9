#include "base/words.h"

#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>

namespace muster {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && is_space(text[at])) ++at;
    const std::size_t begin = at;
    while (at < text.size() && !is_space(text[at])) ++at;
    if (at > begin) words.push_back(text.substr(begin, at - begin));
  }
  return words;
}

std::vector<std::string_view> columns_of(std::string_view text) {
  std::vector<std::string_view> columns;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && is_space(text[at])) ++at;
    const std::size_t begin = at;
    std::size_t end = at;
    while (at < text.size()) {
      if (text[at] == '\t' ||
          (text[at] == ' ' && (at + 1 >= text.size() || is_space(text[at + 1]))))
        break;
      end = ++at;
    }
    if (end > begin) columns.push_back(trimmed(text.substr(begin, end - begin)));
  }
  return columns;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::optional<double> finite(std::string_view word) {
  if (word.empty() ||
      (word.front() != '-' && word.front() != '.' && (word.front() < '0' || word.front() > '9'))) {
    return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<std::uint64_t> whole(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

const Regex& pattern(const char* text) {
  thread_local std::map<const char*, Regex> compiled;
  const auto known = compiled.find(text);
  if (known != compiled.end()) return known->second;
  auto regex = Regex::compile(text);
  if (!regex) throw std::logic_error("bad pattern: " + regex.findings().front().message);
  return compiled.emplace(text, std::move(regex).value()).first->second;
}

std::string_view group(const Regex::Match& match, std::size_t number) {
  return number < match.groups.size() ? match.groups[number].value_or(std::string_view())
                                      : std::string_view();
}

bool finds(const Regex& regex, std::string_view text, Regex::Match& match) {
  return regex.search(text, 0, match) == Regex::Found::kYes;
}

}  // namespace muster
