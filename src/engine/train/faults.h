// Faults on purpose: to see that a run survives, or that whoever watches it notices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::train {

inline constexpr const char* kFaultHelp =
    "Fails on purpose, for drills and tests: KIND:RANK:STEP[:PLACE] with KIND kill (SIGKILL), stop "
    "(SIGSTOP), term (SIGTERM), nan (the loss) or slow=MS (from STEP on), and PLACE forward "
    "(default), backward, update or save";

/// Where in a step a fault strikes.
enum class Place {
  kForward,   ///< before the first forward pass
  kBackward,  ///< between backward and the exchange of results
  kUpdate,    ///< after the optimizer's update, before the step's event
  kSave,      ///< while the step's checkpoint is half written
};

struct Fault {
  enum class Kind { kKill, kStop, kTerm, kNan, kSlow };
  Kind kind = Kind::kKill;
  int rank = 0;
  std::int64_t step = 0;
  Place place = Place::kForward;
  int milliseconds = 0;  ///< of kSlow

  bool operator==(const Fault&) const = default;
};

Result<Fault> parse_fault(std::string_view text);

/// The faults that this rank is to have.
class Faults {
 public:
  Faults() = default;
  /// Keeps those of `rank`; the texts have been checked.
  Faults(const std::vector<std::string>& texts, int rank);

  /// Kills, stops or delays this process if that is due here.
  void strike(std::int64_t step, Place place) const;
  /// Whether the loss of this step is to be not a number.
  bool spoils_loss(std::int64_t step) const;

 private:
  std::vector<Fault> faults_;
};

}  // namespace muster::train
