#include "base/document.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

namespace muster {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t count_digits(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - from;
}

/// Whether the text is a number of YAML's core schema, without .inf and .nan.
bool is_decimal(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  const std::size_t whole = count_digits(text, at);
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = count_digits(text, ++at);
    if (whole + fraction == 0) return false;
    at += fraction;
  } else if (whole == 0) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t exponent = count_digits(text, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size();
}

std::string_view without_plus(std::string_view text) {
  return !text.empty() && text[0] == '+' ? text.substr(1) : text;
}

}  // namespace

std::optional<bool> Node::as_bool() const {
  if (!is_scalar() || quoted_) return std::nullopt;
  if (text_ == "true" || text_ == "True" || text_ == "TRUE") return true;
  if (text_ == "false" || text_ == "False" || text_ == "FALSE") return false;
  return std::nullopt;
}

std::optional<std::int64_t> Node::as_int() const {
  if (!is_scalar() || quoted_) return std::nullopt;
  const std::size_t sign = !text_.empty() && (text_[0] == '+' || text_[0] == '-') ? 1 : 0;
  if (text_.size() == sign || count_digits(text_, sign) != text_.size() - sign) return std::nullopt;
  const std::string_view digits = without_plus(text_);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<double> Node::as_double() const {
  if (!is_scalar() || quoted_) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text_ == ".inf" || text_ == "+.inf") return kInfinity;
  if (text_ == "-.inf") return -kInfinity;
  if (text_ == ".nan") return std::numeric_limits<double>::quiet_NaN();
  if (!is_decimal(text_)) return std::nullopt;
  const std::string_view number = without_plus(text_);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return value;
}

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

const char* Node::type_name() const {
  switch (kind_) {
    case Kind::kNull:
      return "null";
    case Kind::kSequence:
      return "sequence";
    case Kind::kMapping:
      return "mapping";
    case Kind::kScalar:
      break;
  }
  if (as_bool()) return "boolean";
  if (as_int()) return "integer";
  if (as_double()) return "number";
  return "text";
}

Node Node::null(Position where) {
  Node node;
  node.where_ = where;
  return node;
}

Node Node::scalar(std::string text, bool quoted, Position where) {
  Node node = null(where);
  node.kind_ = Kind::kScalar;
  node.text_ = std::move(text);
  node.quoted_ = quoted;
  return node;
}

Node Node::sequence(std::vector<Node> items, Position where) {
  Node node = null(where);
  node.kind_ = Kind::kSequence;
  node.items_ = std::move(items);
  return node;
}

Node Node::mapping(std::vector<Entry> entries, Position where) {
  Node node = null(where);
  node.kind_ = Kind::kMapping;
  node.entries_ = std::move(entries);
  return node;
}

Node Node::with_tag(std::string tag) && {
  tag_ = std::move(tag);
  return std::move(*this);
}

namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Optimal string alignment distance: insertions, deletions, changes and swaps of neighbours; case
/// is ignored.
std::size_t typing_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + change});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string> did_you_mean(std::string_view word,
                                        const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 256;  // nobody mistypes more; keeps the quadratic cost small
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongest) continue;
    const std::size_t allowed = std::max<std::size_t>(
        1, std::min<std::size_t>(3, std::max(word.size(), candidate.size()) / 3));
    const std::size_t distance = typing_distance(word, candidate);
    // One letter that differs is no typo of a one-letter word.
    if (distance > allowed || distance >= std::max(word.size(), candidate.size())) continue;
    if (!best || distance < best_distance || (distance == best_distance && candidate < *best)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace muster
