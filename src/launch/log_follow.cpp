#include "launch/log_follow.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include <fmt/format.h>

namespace muster::launch {
namespace {

std::uint64_t size_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

void keep(runs::EventWriter& writer, const std::vector<runs::RankedEvent>& events) {
  // A record that can't be written is noticed by what is missing in it.
  for (const runs::RankedEvent& one : events) (void)writer.write(one.event);
}

bool tells_a_step(const runs::RankedEvent& one) {
  return one.event.value("event", "") == "step";
}

}  // namespace

LogFollow::LogFollow(const std::filesystem::path& run_directory, runs::LogPatterns patterns,
                     LogSettings settings, Clock& clock)
    : clock_(clock), patterns_(std::move(patterns)), settings_(std::move(settings)) {
  for (int rank = 0; rank < settings_.world; ++rank) {
    const auto log = run_directory / "logs" / fmt::format("rank-{}.log", rank);
    const runs::LogContext context{rank, settings_.world, settings_.seq_len,
                                   settings_.asked ? &*settings_.asked : nullptr};
    ranks_.push_back(std::unique_ptr<Rank>(
        new Rank{Tail(log, size_of(log)), runs::LogReader(patterns_, context),
                 runs::EventWriter(runs::metrics_file(run_directory.string(), rank))}));
  }
}

LogFollow::News LogFollow::read() {
  News news = News::kNone;
  for (const auto& rank : ranks_) {
    const std::string text = rank->tail.text();
    if (text.empty()) continue;
    news = std::max(news, News::kLines);
    rank->seen = true;
    std::vector<runs::RankedEvent> events;
    rank->reader.feed(text, events);
    if (std::any_of(events.begin(), events.end(), tells_a_step)) news = News::kSteps;
    keep(rank->writer, events);
  }
  return news;
}

LogFollow::News LogFollow::look() {
  constexpr std::chrono::milliseconds kApart{500};
  const auto now = clock_.steady();
  if (looked_ && now - *looked_ < kApart) return News::kNone;
  looked_ = now;
  return read();
}

void LogFollow::finish() {
  read();
  for (const auto& rank : ranks_) {
    if (!rank->seen) continue;  // a rank that never started left nothing to tell
    std::vector<runs::RankedEvent> events;
    rank->reader.finish(events);
    keep(rank->writer, events);
  }
}

}  // namespace muster::launch
