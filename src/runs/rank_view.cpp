#include "runs/rank_view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace muster::runs {

using nlohmann::json;

std::optional<double> number(const json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_number()) {
    return std::nullopt;
  }
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<long long> integer(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number_integer() ? std::optional(found->get<long long>())
                                                            : std::nullopt;
}

std::string text(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_nonfinite(const json& event, const char* key) {
  const auto found = event.find(key);
  if (found != event.end() && found->is_number_float() && !std::isfinite(found->get<double>())) {
    return true;
  }
  const auto list = event.find("nonfinite");
  return list != event.end() && list->is_array() &&
         std::any_of(list->begin(), list->end(), [key](const json& name) { return name == key; });
}

std::string RankView::name() const {
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} on {}", rank, host);
}

namespace {

std::vector<Attempt> split(const std::vector<json>& events) {
  std::vector<Attempt> attempts(1);
  bool any = false;
  for (const json& event : events) {
    const std::string kind = text(event, "event");
    if (kind == "start" && any) {
      attempts.emplace_back();
    }
    any = true;
    Attempt& now = attempts.back();
    if (kind == "start") {
      now.start = &event;
    } else if (kind == "resume") {
      now.resume = &event;
    } else if (kind == "end") {
      now.end = &event;
    } else if (kind == "step") {
      now.steps.push_back(&event);
    } else if (kind == "eval") {
      now.evals.push_back(&event);
    } else if (kind == "checkpoint") {
      now.checkpoints.push_back(&event);
    } else if (kind == "reload") {
      now.reloads.push_back(&event);
    } else if (kind == "error") {
      now.errors.push_back(&event);
    } else if (kind == "peak") {
      now.peaks.push_back(&event);
    } else if (kind == "data") {
      now.data.push_back(&event);
    } else if (kind == "joined") {
      now.joined.push_back(&event);
    } else if (kind == "log") {
      now.log = &event;
    }
  }
  return attempts;
}

void put(std::map<long long, Attempt::Event>& into, const std::vector<Attempt::Event>& events) {
  for (const Attempt::Event event : events) {
    if (const auto step = integer(*event, "step")) {
      into[*step] = event;
    }
  }
}

}  // namespace

std::vector<RankView> view(const std::vector<RankEvents>& ranks) {
  std::vector<RankView> views;
  for (const RankEvents& rank : ranks) {
    RankView one;
    one.rank = rank.rank;
    one.source = &rank;
    one.attempts = split(rank.events);
    for (const Attempt& attempt : one.attempts) {
      // What an attempt does again, or did not build on, does not count.
      const long long from =
          attempt.resume != nullptr ? integer(*attempt.resume, "step").value_or(0) : 0;
      one.steps.erase(one.steps.upper_bound(from), one.steps.end());
      one.evals.erase(one.evals.upper_bound(from), one.evals.end());
      put(one.steps, attempt.steps);
      put(one.evals, attempt.evals);
    }
    if (one.last().start != nullptr) {
      one.host = text(*one.last().start, "host");
    }
    views.push_back(std::move(one));
  }
  std::sort(views.begin(), views.end(), [](const RankView& a, const RankView& b) {
    return std::pair(a.rank, a.source->file) < std::pair(b.rank, b.source->file);
  });
  return views;
}

std::string ranges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    out += (out.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) {
      out += (last == i + 1 ? ", " : "-") + std::to_string(numbers[last]);
    }
    i = last + 1;
  }
  return out;
}

}  // namespace muster::runs
