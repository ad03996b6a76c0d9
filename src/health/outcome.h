// How well a device, a node or a cluster is, as the health checks say it, and what is to be done.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/verdict.h"

namespace muster::health {

/// Ordered so that the worst of several is the largest. What could not be seen is worse than what
/// is well and better than what is known to be broken: it never hides a fault and is never good.
enum class Health {
  kNotApplicable,  ///< the host has no such hardware
  kOk,
  kFlag,         ///< keep in service, watch
  kSkipped,      ///< asked for, and not looked at
  kUnknown,      ///< the evidence is missing or not understood
  kError,        ///< looking at it failed
  kReset,        ///< drain, reset the device, test again
  kReboot,       ///< drain, reboot, test again
  kInvestigate,  ///< out of service; test once more, then replace
  kReplace,      ///< drain, replace the instance
};

/// not-applicable, ok, flag, skipped, unknown, error, reset, reboot, investigate, replace.
const char* to_string(Health health);
std::optional<Health> parse_health_word(std::string_view word);

bool is_fault(Health health);  ///< reset to replace

/// What JUnit, SARIF and the other verdicts make of it: ok and flag pass, a fault fails, the rest
/// is unknown.
Outcome outcome_of(Health health);

/// What to do with a node that is so; empty where nothing is to be done.
std::string advice(Health health);

}  // namespace muster::health
