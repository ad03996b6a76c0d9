#include "health/history.h"

#include <algorithm>

#include "base/words.h"

namespace muster::health {

Result<std::vector<Sample>> parse_history(const std::string& text, const std::string& file) {
  std::vector<Sample> samples;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto words = words_of(std::string_view(text).substr(at, end - at));
    at = end + 1;
    ++number;
    if (words.empty()) continue;
    const auto health = words.size() == 2 ? parse_health_word(words[1]) : std::nullopt;
    if (!health) {
      return Failure(error_at({file, number, 1}, "health-history", "not a sample of a history",
                              "TIME OUTCOME, as in 2026-11-30T10:00:00Z ok"));
    }
    samples.push_back({std::string(words[0]), *health});
  }
  return samples;
}

std::string history_text(const std::vector<Sample>& samples) {
  std::string text;
  const std::size_t from = samples.size() > kHistory ? samples.size() - kHistory : 0;
  for (std::size_t i = from; i < samples.size(); ++i)
    text += samples[i].time + " " + to_string(samples[i].health) + "\n";
  return text;
}

Health steady(const std::vector<Sample>& samples) {
  if (samples.empty()) return Health::kUnknown;
  const Health now = samples.back().health;
  const std::size_t from = samples.size() > kHistory ? samples.size() - kHistory : 0;
  std::size_t bad = 0, good_in_a_row = 0;
  Health worst = Health::kNotApplicable;
  for (std::size_t i = from; i < samples.size(); ++i) {
    const Health health = samples[i].health;
    if (is_fault(health)) {
      ++bad;
      worst = std::max(worst, health);
      good_in_a_row = 0;
    } else if (health == Health::kOk || health == Health::kFlag) {
      ++good_in_a_row;
    }
  }
  if (bad >= kBadSamples && good_in_a_row < kGoodSamples) return worst;
  return is_fault(now) ? Health::kFlag : now;
}

}  // namespace muster::health
