// What earlier checks of a node came to, so that one bad sample of a figure that flaps is no reason
// to take a node out of service, and one good sample none to put it back.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "health/outcome.h"

namespace muster::health {

struct Sample {
  std::string time;  ///< ISO, as the caller writes it
  Health health = Health::kUnknown;
};

/// The newest samples kept.
inline constexpr std::size_t kHistory = 6;
/// Faults among them for a fault to stand.
inline constexpr std::size_t kBadSamples = 3;
/// Good samples in a row for a fault that stood to be over.
inline constexpr std::size_t kGoodSamples = 3;

/// "TIME OUTCOME" a line, oldest first. Error: a line of another form.
Result<std::vector<Sample>> parse_history(const std::string& text, const std::string& file);
std::string history_text(const std::vector<Sample>& samples);

/// What the samples come to, oldest first, the newest being now: a fault that stands in fewer than
/// three of the last six is a flag; one that stood is over only after three good ones in a row, and
/// until then is the worst of the window. What could not be verified is neither good nor bad.
Health steady(const std::vector<Sample>& samples);

}  // namespace muster::health
