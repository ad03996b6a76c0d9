// A finding: one thing that is wrong (or worth knowing) at one place of the input.
#pragma once

#include <compare>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The name of a file. Each different name is kept once, until the program ends: a document has a
/// thousand places in one file, and a place has to be small. Converts from and to text.
class FileName {
 public:
  FileName() = default;                                   // no name
  FileName(const std::string& name);                      // NOLINT(google-explicit-constructor)
  FileName(const char* name);                             // NOLINT(google-explicit-constructor)
  operator const std::string&() const { return *name_; }  // NOLINT(google-explicit-constructor)
  const std::string& str() const { return *name_; }
  bool empty() const { return name_->empty(); }

  bool operator==(const FileName& other) const { return name_ == other.name_; }
  bool operator==(const std::string& other) const { return *name_ == other; }
  bool operator==(const char* other) const { return *name_ == other; }
  std::strong_ordering operator<=>(const FileName& other) const { return *name_ <=> *other.name_; }

 private:
  static const std::string kNone;
  const std::string* name_ = &kNone;
};

std::ostream& operator<<(std::ostream& out, const FileName& name);

/// A place in a text. Lines and columns count from 1; 0 means "not known". `file` may be empty when
/// the input has no name.
struct Position {
  FileName file;
  int line = 0;
  int column = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 behind a defaulted <=> for one
  auto operator<=>(const Position&) const = default;
};

/// `file:line:column`, leaving out what is not known.
std::string to_string(const Position& where);

enum class Severity { kInfo, kWarning, kError };

/// "info", "warning", "error".
const char* to_string(Severity severity);

/// What is wrong, where, and what would be right.
struct Finding {
  Severity severity = Severity::kError;
  std::string rule;  ///< stable identifier, e.g. "manifest-unknown-key"
  Position where;
  std::string message;  ///< what is wrong, one sentence without a final period
  std::string hint;     ///< what would be right; may be empty
};

/// `file:line:column: severity: message [rule]`, with the hint behind a semicolon.
std::string to_string(const Finding& finding);

using Findings = std::vector<Finding>;

/// An error finding in one call: error_at(where, "rule", "message", "hint").
Finding error_at(Position where, std::string rule, std::string message, std::string hint = {});
Finding warning_at(Position where, std::string rule, std::string message, std::string hint = {});

bool has_errors(const Findings& findings);

}  // namespace muster
