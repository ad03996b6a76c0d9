#include "health/outcome.h"

#include <array>
#include <utility>

namespace muster::health {
namespace {

constexpr std::array<std::pair<Health, const char*>, 10> kWords = {{
    {Health::kNotApplicable, "not-applicable"},
    {Health::kOk, "ok"},
    {Health::kFlag, "flag"},
    {Health::kSkipped, "skipped"},
    {Health::kUnknown, "unknown"},
    {Health::kError, "error"},
    {Health::kReset, "reset"},
    {Health::kReboot, "reboot"},
    {Health::kInvestigate, "investigate"},
    {Health::kReplace, "replace"},
}};

}  // namespace

const char* to_string(Health health) {
  for (const auto& [known, word] : kWords) {
    if (known == health) return word;
  }
  return "unknown";
}

std::optional<Health> parse_health_word(std::string_view word) {
  for (const auto& [known, name] : kWords) {
    if (word == name) return known;
  }
  return std::nullopt;
}

bool is_fault(Health health) {
  return health >= Health::kReset;
}

Outcome outcome_of(Health health) {
  if (is_fault(health)) return Outcome::kFail;
  return health == Health::kOk || health == Health::kFlag ? Outcome::kPass : Outcome::kUnknown;
}

std::string advice(Health health) {
  switch (health) {
    case Health::kFlag:
      return "keep in service, watch";
    case Health::kReset:
      return "drain, reset the device, test again";
    case Health::kReboot:
      return "drain, reboot, test again";
    case Health::kInvestigate:
      return "take out of service, test once more; replace if it stays";
    case Health::kReplace:
      return "drain, replace the instance";
    default:
      return {};
  }
}

}  // namespace muster::health
