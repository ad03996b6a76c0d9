#include <algorithm>
#include <map>

#include "health/host.h"
#include "runs/log_patterns.h"

namespace muster::health {

std::optional<int> Host::accelerators(std::string_view kind) const {
  if (!instance) return std::nullopt;
  if (!instance->accelerators || instance->accelerators->kind != kind) return 0;
  return instance->accelerators->count;
}

std::optional<int> Host::efa_devices() const {
  return instance ? instance->network.efa_count : std::nullopt;
}

std::string Host::model() const {
  return instance && instance->accelerators ? instance->accelerators->model : std::string();
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    runs::PlainLine plain = runs::plain_line(text.substr(at, end - at));
    lines.push_back({std::move(plain.text), std::move(plain.source), ++number});
    at = end + 1;
  }
  return lines;
}

std::vector<std::vector<Line>> streams_of(std::string_view text) {
  std::vector<std::vector<Line>> streams;
  std::map<std::string, std::size_t> places;
  for (Line& line : lines_of(text)) {
    const auto [place, is_new] = places.emplace(line.source, streams.size());
    if (is_new) streams.emplace_back();
    streams[place->second].push_back(std::move(line));
  }
  return streams;
}

}  // namespace muster::health
