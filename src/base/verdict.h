// The verdict: what a command concludes, with the evidence for it.
#pragma once

#include <string>
#include <vector>

namespace muster {

/// Ordered from best to worst, so that the worst of several is the largest. `kUnknown` means that
/// the check could not be made; it is never as good as a pass.
enum class Outcome { kPass, kUnknown, kFail };

/// "pass", "unknown", "fail".
const char* to_string(Outcome outcome);

/// One check and what was seen.
struct Check {
  std::string name;
  Outcome outcome = Outcome::kUnknown;
  std::string evidence;  ///< what was seen, with the figures and the place
};

/// A list of checks. An empty verdict is unknown: nothing checked is never a pass.
class Verdict {
 public:
  void add(Check check);
  void add(std::string name, Outcome outcome, std::string evidence);

  /// The worst outcome of all checks; kUnknown when there are none.
  Outcome outcome() const;

  /// Checks, worst first; among equals in the order they were added.
  std::vector<Check> worst_first() const;
  const std::vector<Check>& checks() const { return checks_; }

 private:
  std::vector<Check> checks_;
};

/// What the programs exit with.
enum ExitCode : int {
  kExitOk = 0,
  kExitInternal = 1,       ///< usage or internal error
  kExitBadInput = 2,       ///< input that can't be read
  kExitFailed = 3,         ///< checked, and it fails
  kExitUnverified = 4,     ///< could not be verified
  kExitDiffers = 5,        ///< differs
  kExitTimeLimit = 124,    ///< own time limit
  kExitInterrupted = 130,  ///< interrupted, children reaped
};

/// pass 0, fail 3, unknown 4.
ExitCode exit_code(Outcome outcome);

}  // namespace muster
