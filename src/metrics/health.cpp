#include "metrics/catalogue.h"
#include "metrics/collectors.h"

namespace muster::metrics {

void collect_health(const std::vector<health::CheckResult>& checks, double when, Exposition& to) {
  using health::Health;
  const auto put = [&](const char* name, Labels labels, double value) {
    const MetricRow& row = metric_row(name);
    to.add(name, row.type, row.help, std::move(labels), value);
  };
  for (const health::CheckResult& check : checks) {
    for (int i = 0; i <= static_cast<int>(Health::kReplace); ++i) {
      const auto health = static_cast<Health>(i);
      const Labels labels = {{"check", check.name()}, {"outcome", to_string(health)}};
      put("muster_health", labels, check.health() == health ? 1 : 0);
      double count = 0;
      for (const health::Observation& seen : check.observations())
        count += seen.health == health ? 1 : 0;
      put("muster_health_findings", labels, count);
    }
    put("muster_health_timestamp_seconds", {{"check", check.name()}}, when);
  }
}

}  // namespace muster::metrics
