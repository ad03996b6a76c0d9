// Regular expressions (PCRE2, compiled to machine code where the library can) over bytes: fast
// enough for every line of a log, and bounded, so that no pattern can make a reader hang.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

class Regex {
 public:
  /// Perl syntax. Failure (rule "regex"): what is wrong and at which character.
  static Result<Regex> compile(std::string_view pattern);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  /// Names by group number; empty where a group has none. The whole match is number 0.
  const std::vector<std::string>& groups() const { return groups_; }

  enum class Found { kNo, kYes, kGaveUp };

  struct Match {
    std::size_t begin = 0, end = 0;                       ///< in the text
    std::vector<std::optional<std::string_view>> groups;  ///< by number; nothing: not taken part
  };

  /// The leftmost match at or after `from`. kGaveUp: the pattern needs too many steps on this text.
  Found search(std::string_view text, std::size_t from, Match& match) const;

 private:
  struct State;
  explicit Regex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  std::vector<std::string> groups_;
};

}  // namespace muster
