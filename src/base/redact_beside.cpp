#include "base/redact_beside.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "base/redact.h"

namespace muster {
namespace {

constexpr std::size_t kLength = 40;  // of both kinds of key

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}
bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_small(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_base64(char c) {
  return is_decimal(c) || is_capital(c) || is_small(c) || c == '+' || c == '/';
}
bool is_hexadecimal(char c) {
  return is_decimal(c) || (c >= 'a' && c <= 'f');
}

/// Of random base64 practically all have all three; a path, a word and a hash have not.
bool is_mixed(std::string_view key) {
  return std::any_of(key.begin(), key.end(), is_capital) &&
         std::any_of(key.begin(), key.end(), is_small) &&
         std::any_of(key.begin(), key.end(), is_decimal);
}

/// Starts of the runs of exactly forty such characters in [from, to).
template <typename Allowed>
std::vector<std::size_t> keys_in(std::string_view text, std::size_t from, std::size_t to,
                                 Allowed allowed) {
  std::vector<std::size_t> found;
  for (std::size_t at = from; at < to;) {
    std::size_t end = at;
    while (end < text.size() && allowed(text[end])) ++end;
    if (end - at == kLength && (at == 0 || !allowed(text[at - 1]))) found.push_back(at);
    at = std::max(end, at + 1);
  }
  return found;
}

/// Start of the line that lies `lines` before the one of `at`, and the end of the one after.
std::size_t line_before(std::string_view text, std::size_t at, int lines) {
  for (; lines >= 0; --lines) {
    const std::size_t feed = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    if (feed == std::string_view::npos) return 0;
    at = feed;
  }
  return at + 1;
}
std::size_t line_after(std::string_view text, std::size_t at, int lines) {
  for (; lines >= 0; --lines) {
    const std::size_t feed = text.find('\n', at);
    if (feed == std::string_view::npos) return text.size();
    at = feed + 1;
  }
  return at - 1;
}

bool is_key_id(std::string_view text, std::size_t at) {
  constexpr std::size_t kIdLength = 20;
  if (at + kIdLength > text.size() || (at > 0 && is_base64(text[at - 1]))) return false;
  const auto id = text.substr(at, kIdLength);
  return (id.starts_with("AKIA") || id.starts_with("ASIA")) &&
         std::all_of(id.begin(), id.end(), [](char c) { return is_capital(c) || is_decimal(c); });
}

}  // namespace

void redact_beside(std::string& text) {
  std::vector<std::size_t> keys;
  for (const char* prefix : {"AKIA", "ASIA"}) {
    for (std::size_t at = text.find(prefix); at != std::string::npos;
         at = text.find(prefix, at + 1)) {
      if (!is_key_id(text, at)) continue;
      for (const std::size_t key :
           keys_in(text, line_before(text, at, 2), line_after(text, at, 2), is_base64)) {
        if (is_mixed(std::string_view(text).substr(key, kLength))) keys.push_back(key);
      }
    }
  }
  for (const char* name : {"wandb", "WANDB"}) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      const auto found = keys_in(text, at, line_after(text, at, 0), is_hexadecimal);
      keys.insert(keys.end(), found.begin(), found.end());
    }
  }
  std::sort(keys.begin(), keys.end(), std::greater<>());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const std::size_t key : keys) text.replace(key, kLength, kRedacted);
}

}  // namespace muster
