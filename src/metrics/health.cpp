#include "metrics/collectors.h"

namespace muster::metrics {

void collect_health(const std::vector<health::CheckResult>& checks, Exposition& to) {
  using health::Health;
  for (const health::CheckResult& check : checks) {
    for (int i = 0; i <= static_cast<int>(Health::kReplace); ++i) {
      const auto health = static_cast<Health>(i);
      const Labels labels = {{"check", check.name()}, {"outcome", to_string(health)}};
      to.add("muster_health", Type::kGauge, "1 for the outcome of a health check", labels,
             check.health() == health ? 1 : 0);
      double count = 0;
      for (const health::Observation& seen : check.observations())
        count += seen.health == health ? 1 : 0;
      to.add("muster_health_findings", Type::kGauge, "Findings of a health check by outcome",
             labels, count);
    }
  }
}

}  // namespace muster::metrics
