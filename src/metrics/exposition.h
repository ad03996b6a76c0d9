// Prometheus' text exposition format (0.0.4): metrics with their help, type and samples, written so
// that every reader of the format takes it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/finding.h"
#include "base/result.h"

namespace muster::metrics {

enum class Type { kGauge, kCounter, kUntyped, kHistogram, kSummary };

/// "gauge", "counter", "untyped", "histogram", "summary".
const char* to_string(Type type);

/// The two forms that Prometheus asks for.
enum class Form { kText, kOpenMetrics };

using Labels = std::vector<std::pair<std::string, std::string>>;

/// Gathers samples by metric, in the order in which metrics first appear.
class Exposition {
 public:
  /// A sample of a metric; its help and type are those of the first one. A second sample with the
  /// same labels replaces the first: the format allows one.
  void add(const std::string& name, Type type, const std::string& help, Labels labels,
           double value);

  /// A sample of a histogram or summary, whose own name may have a suffix (_bucket, _sum, _count).
  /// They keep their order, which for buckets is prescribed.
  void add_part(const std::string& name, Type type, const std::string& help,
                const std::string& sample, const Labels& labels, double value);

  /// All metrics of another that are not here yet and not `taken`; what is here stays as it is.
  void add_missing(Exposition&& other, const std::set<std::string, std::less<>>& taken = {});
  /// All samples of another; those that are here too become the other's.
  void merge(const Exposition& other);

  std::string text() const { return text(Form::kText); }
  /// OpenMetrics wants counters to end in _total: others are written as of unknown type, so that a
  /// series has the same name whatever form was asked for. Its last line, # EOF, is the caller's.
  std::string text(Form form) const;
  std::size_t samples() const;
  bool has(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  struct Part {
    std::string name;
    Labels labels;
    double value = 0;
  };
  struct Metric {
    std::string name, help;
    Type type = Type::kGauge;
    std::map<Labels, double> samples;
    std::vector<Part> parts;
  };
  Metric& metric(const std::string& name, Type type, const std::string& help);

  std::vector<Metric> metrics_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

/// Characters that a metric's or label's name can't have become underscores.
std::string metric_name(std::string_view text);

/// What is wrong with a text by the rules of the format: names, escapes, values, metrics that are
/// not together, samples twice, a last line without its end.
Findings check_exposition(std::string_view text, const std::string& file);

/// Reads a text of the format. Failure: what check_exposition finds, or samples with times, which
/// a file that is read again and again must not have.
Result<Exposition> parse_exposition(std::string_view text, const std::string& file);

}  // namespace muster::metrics
