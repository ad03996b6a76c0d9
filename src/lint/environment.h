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

/// Whether rules or the check of spelling speak of a variable: FI_*, NCCL_*, …
bool is_of_fabric_or_nccl(std::string_view name);

/// What the rules depend on, from an instance type: its kind of accelerator, whether it has EFA.
/// Nothing of it where the type is not known.
void set_instance(facts::Circumstances& circumstances, const facts::Facts& known,
                  const std::string& type);

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

/// The same for what a script, an image or an object sets on top of an environment that it does not
/// show: what is missing there can't be told, and what is set twice may be in two branches.
Findings check_environment_entries(const std::vector<EnvironmentEntry>& entries,
                                   const facts::EnvironmentRules& rules,
                                   const facts::Circumstances& circumstances);

}  // namespace muster::lint
