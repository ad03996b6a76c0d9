#include "health/check.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::health {

void CheckResult::add(Health health, std::string rule, std::string subject, std::string evidence,
                      Position where) {
  add({health, std::move(rule), std::move(subject), std::move(evidence), where});
}

Health CheckResult::health() const {
  if (observations_.empty()) return Health::kUnknown;
  Health worst = Health::kNotApplicable;
  bool skipped = false;
  for (const Observation& seen : observations_) {
    if (seen.health == Health::kSkipped)
      skipped = true;
    else
      worst = std::max(worst, seen.health);
  }
  return worst == Health::kNotApplicable && skipped ? Health::kSkipped : worst;
}

std::string CheckResult::evidence() const {
  if (observations_.empty()) return "nothing was seen";
  std::vector<const Observation*> shown;
  const Health worst = health();
  for (const Observation& seen : observations_) {
    const bool well = seen.health == Health::kOk || seen.health == Health::kNotApplicable ||
                      seen.health == Health::kSkipped;
    if (!well || worst <= Health::kOk || worst == Health::kSkipped) shown.push_back(&seen);
  }
  std::stable_sort(shown.begin(), shown.end(), [](const Observation* a, const Observation* b) {
    return a->health > b->health;
  });
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < shown.size() && i < kMost; ++i) {
    const Observation& seen = *shown[i];
    std::string part = seen.where.file.empty() ? "" : to_string(seen.where) + ": ";
    if (!seen.subject.empty()) part += seen.subject + ": ";
    part += seen.evidence;
    if (seen.health != worst) part += fmt::format(" ({})", to_string(seen.health));
    text += (text.empty() ? "" : "; ") + part;
  }
  if (shown.size() > kMost) text += fmt::format("; and {} more", shown.size() - kMost);
  return text;
}

Health worst_of(const std::vector<CheckResult>& checks) {
  if (checks.empty()) return Health::kUnknown;
  Health worst = Health::kNotApplicable;
  for (const CheckResult& check : checks) worst = std::max(worst, check.health());
  return worst;
}

ExitCode exit_code(Health health) {
  return muster::exit_code(outcome_of(health));
}

}  // namespace muster::health
