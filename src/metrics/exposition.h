// Prometheus' text exposition format (0.0.4): metrics with their help, type and samples, written so
// that every reader of the format takes it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/finding.h"

namespace muster::metrics {

enum class Type { kGauge, kCounter };

/// "gauge", "counter".
const char* to_string(Type type);

using Labels = std::vector<std::pair<std::string, std::string>>;

/// Gathers samples by metric, in the order in which metrics first appear.
class Exposition {
 public:
  /// A sample of a metric; its help and type are those of the first one. A second sample with the
  /// same labels replaces the first: the format allows one.
  void add(const std::string& name, Type type, const std::string& help, Labels labels,
           double value);

  std::string text() const;
  std::size_t samples() const;
  bool has(std::string_view name) const;

 private:
  struct Metric {
    std::string name, help;
    Type type = Type::kGauge;
    std::map<Labels, double> samples;
  };
  std::vector<Metric> metrics_;
};

/// Characters that a metric's or label's name can't have become underscores.
std::string metric_name(std::string_view text);

/// What is wrong with a text by the rules of the format: names, escapes, values, metrics that are
/// not together, samples twice, a last line without its end.
Findings check_exposition(std::string_view text, const std::string& file);

}  // namespace muster::metrics
