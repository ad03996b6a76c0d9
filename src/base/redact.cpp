#include "base/redact.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/redact_beside.h"

namespace muster {
namespace {

constexpr std::size_t kShortest = 6;

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_token_char(char c) {
  return is_alnum(c) || c == '_' || c == '-';
}
bool is_name_char(char c) {
  return is_token_char(c) || c == '.';
}
bool is_bearer_char(char c) {
  return is_name_char(c) || c == '~' || c == '+' || c == '/' || c == '=';
}

/// How a known kind of token starts, and how much of which characters follow.
struct Shape {
  std::string_view prefix;
  std::size_t least;  // characters that follow the prefix
  bool (*allowed)(char);
  bool keep_prefix = false;  // the prefix is a word of the language around it
};

constexpr std::array<Shape, 23> kShapes = {{
    {"hf_", 20, is_alnum},
    {"AKIA", 16, is_alnum},
    {"ASIA", 16, is_alnum},
    {"ghp_", 20, is_alnum},
    {"gho_", 20, is_alnum},
    {"ghu_", 20, is_alnum},
    {"ghs_", 20, is_alnum},
    {"ghr_", 20, is_alnum},
    {"github_pat_", 20, is_token_char},
    {"glpat-", 16, is_token_char},
    {"xoxb-", 10, is_token_char},
    {"xoxp-", 10, is_token_char},
    {"xoxa-", 10, is_token_char},
    {"xapp-", 10, is_token_char},
    {"sk-", 20, is_token_char},
    {"nvapi-", 20, is_token_char},
    {"npm_", 30, is_alnum},
    {"pypi-", 30, is_token_char},
    {"AIza", 30, is_token_char},
    {"eyJ", 30, is_name_char},
    {"Bearer ", 12, is_bearer_char, true},
    {"bearer ", 12, is_bearer_char, true},
    {"Basic ", 12, is_bearer_char, true},
}};

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

void replace_shape(std::string& text, const Shape& shape) {
  std::size_t at = text.find(shape.prefix);
  while (at != std::string::npos) {
    const std::size_t start = at + shape.prefix.size();
    std::size_t end = start;
    while (end < text.size() && shape.allowed(text[end])) ++end;
    const bool inside_word = at > 0 && (is_alnum(text[at - 1]) || text[at - 1] == '_');
    if (inside_word || end - start < shape.least) {
      at = text.find(shape.prefix, start);
      continue;
    }
    const std::size_t from = shape.keep_prefix ? start : at;
    text.replace(from, end - from, kRedacted);
    at = text.find(shape.prefix, from + kRedacted.size());
  }
}

/// -----BEGIN … PRIVATE KEY----- up to its end mark, or to the end of the text when that is
/// missing.
void replace_private_keys(std::string& text) {
  static constexpr std::string_view kBegin = "-----BEGIN ";
  static constexpr std::string_view kEnd = "PRIVATE KEY-----";
  std::size_t at = text.find(kBegin);
  while (at != std::string::npos) {
    const std::size_t header_end = text.find(kEnd, at);
    const std::size_t dashes = text.find("-----", at + kBegin.size());
    if (header_end == std::string::npos || dashes != header_end + kEnd.size() - 5) {
      at = text.find(kBegin, at + 1);
      continue;
    }
    const std::size_t footer = text.find(kEnd, header_end + kEnd.size());
    const std::size_t end = footer == std::string::npos ? text.size() : footer + kEnd.size();
    text.replace(at, end - at, kRedacted);
    at = text.find(kBegin, at + kRedacted.size());
  }
}

/// scheme://user:PASSWORD@host, and scheme://TOKEN@host: no user's name is that long.
void replace_url_passwords(std::string& text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    const std::size_t start = at + 3;
    const std::size_t end = std::min(text.find_first_of("/?# \t\r\n\"'", start), text.size());
    const std::size_t host = text.rfind('@', end == 0 ? 0 : end - 1);
    const std::size_t colon = text.find(':', start);
    if (host == std::string::npos || host < start || host >= end) continue;
    constexpr std::size_t kLongestUser = 19;
    const std::size_t secret = colon < host ? colon + 1 : start;
    if (secret == start && host - start <= kLongestUser) continue;
    text.replace(secret, host - secret, kRedacted);
  }
}

struct Assignment {
  std::size_t value = 0;  // where the value starts
  std::size_t end = 0;
};

/// The value assigned to the name that ends at `at` (NAME=value, NAME: value, "NAME": "value"),
/// when there is one.
std::optional<Assignment> assigned(const std::string& text, std::size_t at) {
  const auto skip = [&](char c) {
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  };
  if (!skip('"')) skip('\'');
  if (!skip('=')) {
    while (skip(' ')) {
    }
    if (!skip(':')) return std::nullopt;
    if (at >= text.size() || (text[at] != ' ' && text[at] != '"')) return std::nullopt;
    while (skip(' ')) {
    }
  }
  const char quote = at < text.size() && (text[at] == '"' || text[at] == '\'') ? text[at] : '\0';
  if (quote != '\0') ++at;
  std::size_t end = at;
  while (end < text.size()) {
    const char c = text[end];
    if (quote != '\0' ? c == quote || c == '\n'
                      : std::string_view(" \t\r\n,;\"'&)}]").find(c) != std::string_view::npos)
      break;
    end += c == '\\' && quote != '\0' && end + 1 < text.size() ? 2 : 1;
  }
  if (end == at) return std::nullopt;
  // References are no secrets: $HF_TOKEN, ${HF_TOKEN}, null; nor are the words of HTTP in front of
  // one.
  const std::string_view value(text.data() + at, end - at);
  if (value[0] == '$' || value == "null" || value == kRedacted || value == "Bearer" ||
      value == "Basic")
    return std::nullopt;
  return Assignment{at, end};
}

void replace_assignments(std::string& text) {
  std::string result;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_alnum(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_name_char(text[end])) ++end;
    const bool candidate =
        end < text.size() && std::string_view("=:\"' ").find(text[end]) != std::string_view::npos;
    if (candidate && is_secret_name(std::string_view(text).substr(at, end - at))) {
      if (const auto found = assigned(text, end)) {
        result.append(text, copied, found->value - copied);
        result += kRedacted;
        copied = end = found->end;
      }
    }
    at = end;
  }
  result.append(text, copied);
  text = std::move(result);
}

std::string percent_encoded(std::string_view value) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string result;
  for (const char c : value) {
    if (is_name_char(c) || c == '~') {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return result;
}

/// Base64 without its padding, so that it is found with and without.
std::string base64(std::string_view value) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : value) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) result += kDigits[bits >> (count - 6) & 63];
  }
  if (count > 0) result += kDigits[bits << (6 - count) & 63];
  return result;
}

std::string json_escaped(std::string_view value) {
  const std::string text = nlohmann::json(std::string(value))
                               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.substr(1, text.size() - 2);
}

template <typename Json>
Json redact_json(const Redactor& redactor, const Json& value) {
  if (value.is_string())
    return redactor.redact(std::string_view(value.template get_ref<const std::string&>()));
  if (value.is_array()) {
    Json result = Json::array();
    for (const Json& item : value) result.push_back(redact_json(redactor, item));
    return result;
  }
  if (!value.is_object()) return value;
  Json result = Json::object();
  for (const auto& [key, member] : value.items()) {
    const bool secret =
        is_secret_name(key) && member.is_primitive() && !member.is_null() && !member.is_boolean();
    const std::string name = redactor.redact(std::string_view(key));
    result[name] = secret ? Json(std::string(kRedacted)) : redact_json(redactor, member);
  }
  return result;
}

}  // namespace

void Redactor::add_secret(std::string_view value) {
  const auto add = [this](std::string text) {
    if (text.size() >= kShortest &&
        std::find(values_.begin(), values_.end(), text) == values_.end()) {
      values_.push_back(std::move(text));
    }
  };
  if (value.size() < kShortest) return;
  add(std::string(value));
  add(json_escaped(value));
  add(percent_encoded(value));
  add(base64(value));
  // Logs break texts of several lines.
  for (std::size_t start = 0; value.find('\n') != std::string_view::npos && start < value.size();) {
    const std::size_t end = std::min(value.find('\n', start), value.size());
    if (end - start >= 16) add(std::string(value.substr(start, end - start)));
    start = end + 1;
  }
  std::sort(values_.begin(), values_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
}

void Redactor::add_named(std::string_view name, std::string_view value) {
  if (is_secret_name(name)) add_secret(value);
}

void Redactor::add_environment(const std::map<std::string, std::string>& environment) {
  for (const auto& [name, value] : environment) add_named(name, value);
}

std::string Redactor::redact(std::string_view text) const {
  std::string result(text);
  for (const std::string& value : values_) replace_all(result, value, kRedacted);
  replace_private_keys(result);
  redact_beside(result);
  for (const Shape& shape : kShapes) replace_shape(result, shape);
  replace_url_passwords(result);
  replace_assignments(result);
  return result;
}

nlohmann::ordered_json Redactor::redact(const nlohmann::ordered_json& value) const {
  return redact_json(*this, value);
}
nlohmann::json Redactor::redact(const nlohmann::json& value) const {
  return redact_json(*this, value);
}

std::map<std::string, std::string> Redactor::redact(
    const std::map<std::string, std::string>& environment) const {
  std::map<std::string, std::string> result;
  for (const auto& [name, value] : environment) {
    result[name] = is_secret_name(name) && !value.empty() ? std::string(kRedacted)
                                                          : redact(std::string_view(value));
  }
  return result;
}

}  // namespace muster
