// The kinds of things that list and show know. A new kind is one row of the table.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/output.h"
#include "base/result.h"
#include "cli/context.h"

namespace muster::cli {

/// One thing, as data and as what table and wide print.
struct Shown {
  nlohmann::ordered_json data;  ///< starts with its name
  std::string text;             ///< empty: the data as YAML
};

struct Kind {
  const char* plural;
  const char* singular;
  const char* help;
  std::vector<OutputColumn> columns;
  /// The items, each an object with a name.
  Result<nlohmann::ordered_json> (*list)(const Context& context);
  /// One of them; failure with "did you mean".
  Result<Shown> (*show)(const Context& context, const std::string& name);
  /// When the kind can't be read; what lies on this machine is input.
  ExitCode unread = kExitBadInput;
  const char* where = "in this project";

  /// Of a list or show that failed: a name that is none is bad input whatever the kind.
  ExitCode exit_code(const Findings& findings) const {
    return findings.front().rule == "unknown-name" ? kExitBadInput : unread;
  }
};

const std::vector<Kind>& kinds();

/// By plural or singular; failure with "did you mean".
Result<const Kind*> find_kind(const std::string& word);

/// "cases, instances, …": for help.
std::string kind_names();

/// "KIND:{cases,instances,…}": the type of an option, from which completions and help take the
/// kinds.
std::string kind_type();

}  // namespace muster::cli
