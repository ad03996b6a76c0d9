#include "launch/watch.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runs/events.h"

namespace muster::launch {
namespace {

using nlohmann::json;

std::optional<double> number(const json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string word(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int step_of(const json& event, int otherwise) {
  const auto found = event.find("step");
  return found != event.end() && found->is_number_integer() ? found->get<int>() : otherwise;
}

/// The event, or null for a line that is none.
json parse(const std::string& line) {
  json event = json::parse(line, nullptr, false);
  return event.is_object() && event.contains("event") ? event : json();
}

}  // namespace

void take_event(Standing& standing, const std::string& line) {
  const json event = parse(line);
  if (event.is_null()) return;
  const std::string name = word(event, "event");
  if (name == "start") standing.doing = "measuring the node and preparing the data";
  if (name == "resume") standing.step = step_of(event, standing.step);
  if (name == "step") {
    standing.doing.clear();
    standing.step = step_of(event, standing.step);
    standing.loss = number(event, "loss");
    standing.tokens_per_second = number(event, "tokens_per_second");
  }
  if (name == "eval") standing.eval_loss = number(event, "loss");
  if (name == "error") standing.doing = word(event, "message");
  if (name == "end") standing.doing = "ended: " + word(event, "reason");
}

RunWatch::RunWatch(const std::filesystem::path& run_directory, int world, Clock& clock)
    : clock_(clock), heard_(clock.steady()) {
  for (int rank = 0; rank < world; ++rank) {
    ranks_.push_back({Tail(runs::metrics_file(run_directory.string(), rank)), {}, 0, false});
  }
}

bool RunWatch::look() {
  constexpr std::chrono::milliseconds kApart{500};
  const auto now = clock_.steady();
  if (looked_ && now - *looked_ < kApart) return false;
  looked_ = now;
  bool news = false;
  for (Rank& rank : ranks_) {
    for (const std::string& line : rank.tail.lines()) {
      news = true;
      const json event = parse(line);
      if (event.is_null()) continue;
      if (const std::string host = word(event, "host"); !host.empty()) rank.host = host;
      rank.step = step_of(event, rank.step);
      rank.ended = word(event, "event") == "end";
      if (&rank == &ranks_.front()) take_event(standing_, line);
    }
  }
  if (news) heard_ = now;
  return news;
}

std::chrono::milliseconds RunWatch::silent_for() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.steady() - heard_);
}

void RunWatch::reset() {
  heard_ = clock_.steady();
}

std::string RunWatch::silent_ranks() const {
  // The ranks that are furthest behind are the ones that the others wait for.
  int behind = -1;
  for (const Rank& rank : ranks_) {
    if (!rank.ended && (behind < 0 || rank.step < behind)) behind = rank.step;
  }
  std::string text;
  int named = 0;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& rank = ranks_[i];
    if (rank.ended || rank.step != behind) continue;
    if (++named > 8) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("rank {}", i);
    text += rank.host.empty() ? " (never started)"
                              : fmt::format(" on {} since step {}", rank.host, rank.step);
  }
  if (named > 8) text += fmt::format(" and {} more", named - 8);
  return text;
}

}  // namespace muster::launch
