#include "reorg/url.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace muster::reorg {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The next component from `at` up to `end`; moves `at` behind its slash.
Span next_component(std::string_view text, std::size_t& at, std::size_t end) {
  const std::size_t slash = std::min(text.find('/', at), end);
  const Span span{std::min(at, end), slash};
  at = std::min(slash + 1, end);
  return span;
}

bool names_something(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

std::size_t url_end(std::string_view text, std::size_t begin) {
  int open = 0;
  std::size_t at = begin;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\'' || c == '<' || c == '>' ||
        c == '`' || c == '|' || c == '\\' || c == '$' || c == '{' || c == '}' || c == ']' ||
        c == '[' || c == '^') {
      break;
    }
    if (c == '(') ++open;
    if (c == ')' && --open < 0) break;
  }
  // What ends a sentence does not belong to the URL.
  constexpr std::string_view kPunctuation = ".,;:!?*_";
  while (at > begin && kPunctuation.find(text[at - 1]) != std::string_view::npos) --at;
  return at;
}

std::optional<GithubUrl> parse_github_url(std::string_view text, Span url) {
  const std::size_t tail =
      std::min({text.find('#', url.begin), text.find('?', url.begin), url.end});
  std::size_t at = url.begin;
  const std::size_t scheme = text.find("://", at);
  if (scheme < tail) at = scheme + 3;
  const std::size_t user = text.substr(at, tail - at).find('@');
  if (user != std::string_view::npos && user < text.substr(at, tail - at).find('/')) at += user + 1;
  std::size_t host_end = std::min({text.find('/', at), text.find(':', at), tail});
  const std::string_view host = text.substr(at, host_end - at);
  const bool plain = host == "github.com" || host == "www.github.com";
  const bool raw = host == "raw.githubusercontent.com";
  const bool api = host == "api.github.com";
  if ((!plain && !raw && !api) || host_end >= tail) return std::nullopt;
  at = host_end + 1;
  if (api) {
    if (slice(text, next_component(text, at, tail)) != "repos") return std::nullopt;
  }
  const Span owner = next_component(text, at, tail);
  Span name = next_component(text, at, tail);
  GithubUrl result;
  if (slice(text, name).size() > 4 && slice(text, name).substr(name.size() - 4) == ".git") {
    result.dot_git = true;
    name.end -= 4;
  }
  if (!names_something(slice(text, owner)) || !names_something(slice(text, name)))
    return std::nullopt;
  result.repository = {owner.begin, name.end};
  result.end = tail;
  if (at >= tail) return result;
  if (!raw) {
    const std::string_view form = slice(text, next_component(text, at, tail));
    constexpr std::array<std::string_view, 5> kForms = {"blob", "tree", "raw", "edit", "blame"};
    result.contents = api && form == "contents";
    if (!result.contents &&
        (api || std::find(kForms.begin(), kForms.end(), form) == kForms.end())) {
      return result;
    }
  }
  result.in_tree = true;
  result.ref_and_path = {at, tail};
  const std::size_t ref = text.substr(0, url.end).find("ref=", tail);
  if (result.contents && ref != std::string_view::npos) {
    result.query_ref = {ref + 4, std::min({text.find('&', ref), text.find('#', ref), url.end})};
  }
  return result;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      result += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string percent_encoded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool plain = static_cast<unsigned char>(c) > ' ' &&
                       static_cast<unsigned char>(c) < 0x7f &&
                       std::string_view("()<>\"%\\^`{}|[]#?").find(c) == std::string_view::npos;
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

}  // namespace muster::reorg
