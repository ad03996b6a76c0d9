// What becomes of each key of a manifest on a target: keys that have no effect there are refused
// where somebody asks for them, and stated with a reason where they describe something else.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "catalog/case.h"
#include "launch/target.h"

namespace muster::launch {

/// A key of the case's schema that a target does not use, or all below it, and why. What is refused
/// would change how the case trains or is judged; what is not describes other targets, or is for
/// people.
struct UnusedKey {
  std::string key;
  std::string reason;
  bool refused = false;
};

/// Where the manifest has a value, or its file when it is a default.
Position position_of(const catalog::ResolvedCase& resolved, const std::string& key);

/// Whether the manifest, a profile or an option asks for something at the leaf of a key or below
/// it, other than what would hold anyway.
bool is_asked(const catalog::ResolvedCase& resolved, const std::string& key,
              const std::string& leaf);

/// Of a case with another launcher than native.
const std::vector<UnusedKey>& foreign_unused_keys(Target target);

/// Keys that say what the program of a foreign case does. The program gets those that its command
/// names (${batch.steps}); the others are there to be read and checked, and a profile or an option
/// that changes one of them is refused. The transport is not among them: the verdict holds the run
/// to it.
const std::vector<std::string>& described_keys();

/// Errors: keys that somebody asks for and that change nothing on this target.
Findings foreign_refusals(const catalog::ResolvedCase& resolved, Target target);

/// Errors: what the case asks of its launcher and the launcher can't do.
Findings launcher_refusals(const catalog::ResolvedCase& resolved);

}  // namespace muster::launch
