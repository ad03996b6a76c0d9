// A set of environment variables (FI_*, NCCL_*, …) judged against the instance type and the
// versions of the libraries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "facts/facts.h"

namespace muster::lint {

struct EnvironmentEntry {
  std::string name, value;
  Position where;
};

/// `NAME=value` and `export NAME=value` lines, as `env` prints them and as scripts and .env files
/// hold them; other lines and comments are passed over. `file` names it in findings.
std::vector<EnvironmentEntry> parse_environment_text(std::string_view text,
                                                     const std::string& file);

/// What is wrong with the set. The rules are facts/environment.yaml; every finding tells the source
/// of its rule. Rule identifiers:
///   env-harmful     breaks or slows something
///   env-no-op       nothing reads it
///   env-automatic   the libraries do it by themselves (warning)
///   env-value       needed, but with another value
///   env-missing     needed and not set (warning)
///   env-misspelt    close to the name of a variable that exists
///   env-conflict    contradicts the instance type or another variable
///   env-repeated    set twice (warning)
Findings check_environment_set(const std::vector<EnvironmentEntry>& entries,
                               const facts::EnvironmentRules& rules,
                               const facts::Circumstances& circumstances, const Position& whole);

}  // namespace muster::lint
