// Every metric that a scrape can bring: those of Muster's own exporter, and those of other people's
// that dashboards and alerts also use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "facts/exporters.h"

namespace muster::metrics {

/// The exporter whose metrics are in catalogue.h.
inline constexpr const char* kOwnExporter = "muster-exporter";

struct KnownMetric {
  std::string name;
  std::string type;  ///< counter, gauge
  std::vector<std::string> labels;
  std::vector<std::string> exporters;  ///< who has it; empty: a rule makes it
};

class KnownMetrics {
 public:
  explicit KnownMetrics(const facts::Exporters& exporters);

  /// By its name on the wire: a histogram has three. Null: nobody has it.
  const KnownMetric* find(std::string_view name) const;
  std::vector<std::string> names() const;
  /// What every sample has by being scraped: cluster, instance, …
  const std::vector<std::string>& target_labels() const { return target_labels_; }

  /// What a recording rule makes, with no labels but these.
  void add_record(const std::string& name, std::vector<std::string> labels);

 private:
  void add(KnownMetric metric);

  std::map<std::string, KnownMetric, std::less<>> metrics_;
  std::vector<std::string> target_labels_;
};

}  // namespace muster::metrics
