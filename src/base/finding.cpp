#include "base/finding.h"

#include <algorithm>
#include <mutex>
#include <ostream>
#include <unordered_set>
#include <utility>

#include "base/result.h"

namespace muster {
namespace {

// References to what an unordered_set holds stay valid while it grows.
const std::string& kept(const std::string& name) {
  static std::mutex mutex;
  static std::unordered_set<std::string>& names = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return *names.insert(name).first;
}

}  // namespace

const std::string FileName::kNone;

FileName::FileName(const std::string& name) : name_(name.empty() ? &kNone : &kept(name)) {}
FileName::FileName(const char* name) : FileName(std::string(name)) {}

std::ostream& operator<<(std::ostream& out, const FileName& name) {
  return out << name.str();
}

std::string to_string(const Position& where) {
  std::string text = where.file;
  if (where.line > 0) {
    text += (text.empty() ? "" : ":") + std::to_string(where.line);
    if (where.column > 0) text += ":" + std::to_string(where.column);
  }
  return text;
}

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "error";
}

std::string to_string(const Finding& finding) {
  std::string text = to_string(finding.where);
  if (!text.empty()) text += ": ";
  text += to_string(finding.severity);
  text += ": " + finding.message;
  if (!finding.hint.empty()) text += "; " + finding.hint;
  if (!finding.rule.empty()) text += " [" + finding.rule + "]";
  return text;
}

Finding error_at(Position where, std::string rule, std::string message, std::string hint) {
  return {Severity::kError, std::move(rule), where, std::move(message), std::move(hint)};
}

Finding warning_at(Position where, std::string rule, std::string message, std::string hint) {
  return {Severity::kWarning, std::move(rule), where, std::move(message), std::move(hint)};
}

bool has_errors(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::kError; });
}

Failure failure(std::string rule, std::string message, std::string hint) {
  return Failure(error_at({}, std::move(rule), std::move(message), std::move(hint)));
}

}  // namespace muster
