#include <algorithm>
#include <array>

#include "base/redact.h"

namespace muster {
namespace {

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The words of a name in lower case: split at other characters than letters and digits, and at
/// camelCase humps.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_upper(c) && !is_lower(c) && !is_digit(c)) {
      words.emplace_back();
      continue;
    }
    const bool after_lower = i > 0 && (is_lower(name[i - 1]) || is_digit(name[i - 1]));
    const bool before_lower =
        i > 0 && is_upper(name[i - 1]) && i + 1 < name.size() && is_lower(name[i + 1]);
    if (is_upper(c) && (after_lower || before_lower)) words.emplace_back();
    words.back() += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  words.erase(std::remove(words.begin(), words.end(), std::string()), words.end());
  return words;
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& set, std::string_view word) {
  return std::find(set.begin(), set.end(), word) != set.end();
}

}  // namespace

bool is_secret_name(std::string_view name) {
  // Words that say it alone; "tokens" is not among them, because models count tokens.
  static constexpr std::array<std::string_view, 14> kSecret = {
      "token",      "password",  "passwd",    "passphrase",   "passcode",
      "secret",     "secrets",   "apikey",    "credentials",  "credential",
      "privatekey", "authtoken", "accesskey", "authorization"};
  static constexpr std::array<std::string_view, 6> kPlace = {"file",      "path", "dir",
                                                             "directory", "name", "type"};
  static constexpr std::array<std::string_view, 5> kAfterKey = {"id", "data", "pem", "base64",
                                                                "value"};
  const std::vector<std::string> words = words_of(name);
  if (words.empty() || is_one_of(kPlace, words.back())) return false;
  if (std::any_of(words.begin(), words.end(),
                  [](const std::string& word) { return is_one_of(kSecret, word); })) {
    return true;
  }
  if (words.size() < 2) return false;
  if (words.back() == "pwd") return words.front() != "old";
  if (words.back() == "pass")
    return std::none_of(name.begin(), name.end(), is_lower);  // DB_PASS, not smoke_pass
  if (std::find(words.begin(), words.end(), "public") != words.end()) return false;
  const bool qualified_id =
      words.size() > 2 && words[words.size() - 2] == "key" && is_one_of(kAfterKey, words.back());
  return words.back() == "key" || words.back() == "keys" || qualified_id;
}

}  // namespace muster
