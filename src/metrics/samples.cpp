#include "metrics/samples.h"

#include <cmath>
#include <limits>
#include <optional>

#include "base/words.h"

namespace muster::metrics {
namespace {

std::optional<double> sample_value(std::string_view word) {
  if (word == "NaN") return std::nan("");
  if (word == "+Inf" || word == "-Inf")
    return (word[0] == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
  return finite(word);
}

/// The label's value behind its first quote, up to the last; `at` moves behind that.
std::optional<std::string> label_value(std::string_view line, std::size_t& at) {
  std::string value;
  for (; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] == '\\' && at + 1 < line.size()) {
      ++at;
      value += line[at] == 'n' ? '\n' : line[at];
      continue;
    }
    value += line[at];
  }
  if (at >= line.size()) return std::nullopt;
  ++at;
  return value;
}

std::optional<Sample> read_sample(std::string_view line) {
  Sample sample;
  std::size_t at = line.find_first_of("{ \t");
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  sample.name = line.substr(0, at);
  if (line[at] == '{') {
    ++at;
    while (at < line.size() && line[at] != '}') {
      const std::size_t equals = line.find('=', at);
      if (equals == std::string_view::npos || equals + 1 >= line.size() || line[equals + 1] != '"')
        return std::nullopt;
      const std::string name(trimmed(line.substr(at, equals - at)));
      at = equals + 2;
      auto value = label_value(line, at);
      if (!value) return std::nullopt;
      sample.labels[name] = std::move(*value);
      while (at < line.size() && (line[at] == ',' || line[at] == ' ')) ++at;
    }
    if (at >= line.size()) return std::nullopt;
    ++at;
  }
  const auto words = words_of(line.substr(at));
  const auto value = words.empty() ? std::nullopt : sample_value(words[0]);
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

}  // namespace

std::string Sample::label(std::string_view wanted) const {
  const auto found = labels.find(wanted);
  return found == labels.end() ? std::string() : found->second;
}

SampleText read_samples(std::string_view text) {
  SampleText read;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(text.substr(at, end - at));
    at = end + 1;
    if (line.empty() || line[0] == '#') continue;
    if (auto sample = read_sample(line))
      read.samples.push_back(std::move(*sample));
    else
      ++read.refused;
  }
  return read;
}

}  // namespace muster::metrics
