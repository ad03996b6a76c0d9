// Samples of a text in Prometheus' format, for whoever shows them: what of it can't be read is left
// out and counted. Times behind values, as federation writes them, are taken too.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::metrics {

struct Sample {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;

  /// A label's value; empty when the sample lacks it.
  std::string label(std::string_view name) const;
};

struct SampleText {
  std::vector<Sample> samples;
  int refused = 0;  ///< lines
};

SampleText read_samples(std::string_view text);

}  // namespace muster::metrics
