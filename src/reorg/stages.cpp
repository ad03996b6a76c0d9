#include "reorg/stages.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <fmt/format.h>

namespace muster::reorg {
namespace {

enum class Reads : unsigned char { kOld, kPinned, kNew };

/// All that decides what is valid.
struct State {
  std::size_t next = 0;  ///< step
  bool tag = false, moved = false;
  std::vector<Reads> reads;                 ///< by consumer, what its published form reads
  std::vector<std::vector<Reads>> pending;  ///< by consumer, what it was asked, in order
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 behind a defaulted <=> for one
  auto operator<=>(const State&) const = default;
};

/// What is broken; empty: nothing.
std::string broken(const State& state, const std::vector<std::string>& consumers) {
  for (std::size_t i = 0; i < consumers.size(); ++i) {
    switch (state.reads[i]) {
      case Reads::kOld:
        if (state.moved)
          return fmt::format("{} reads old paths on the branch, which has moved", consumers[i]);
        break;
      case Reads::kPinned:
        if (!state.tag) return fmt::format("{} reads a tag that does not exist", consumers[i]);
        break;
      case Reads::kNew:
        if (!state.moved)
          return fmt::format("{} reads new paths on the branch, which has not moved", consumers[i]);
        break;
    }
  }
  return {};
}

bool settled(const State& state) {
  return std::all_of(state.pending.begin(), state.pending.end(),
                     [](const auto& list) { return list.empty(); });
}

std::string describe(const Step& step, const std::vector<std::string>& consumers) {
  switch (step.kind) {
    case StepKind::kTag:
      return "the old layout is tagged";
    case StepKind::kPin:
      return consumers[step.consumer] + " is asked to read the tag";
    case StepKind::kMove:
      return "the layout moves";
    case StepKind::kFollow:
      return consumers[step.consumer] + " is asked to read the new paths";
  }
  return {};
}

void take(const Step& step, State& state) {
  switch (step.kind) {
    case StepKind::kTag:
      state.tag = true;
      break;
    case StepKind::kMove:
      state.moved = true;
      break;
    case StepKind::kPin:
      state.pending[step.consumer].push_back(Reads::kPinned);
      break;
    case StepKind::kFollow:
      state.pending[step.consumer].push_back(Reads::kNew);
      break;
  }
}

}  // namespace

const char* to_string(StepKind kind) {
  switch (kind) {
    case StepKind::kTag:
      return "tag";
    case StepKind::kPin:
      return "pin";
    case StepKind::kMove:
      return "move";
    case StepKind::kFollow:
      return "follow";
  }
  return "";
}

StageReport walk_stages(const std::vector<Step>& steps, const std::vector<std::string>& consumers) {
  StageReport report;
  State start;
  start.reads.resize(consumers.size(), Reads::kOld);
  start.pending.resize(consumers.size());
  // Breadth first, so that the way to each is the shortest.
  std::map<State, std::pair<const State*, std::string>> came_from;
  std::deque<const State*> queue;
  std::set<std::string> said;
  const auto visit = [&](State state, const State* from, std::string event) {
    const auto [entry, is_new] =
        came_from.emplace(std::move(state), std::pair(from, std::move(event)));
    if (!is_new) return;
    ++report.states;
    const std::string what = broken(entry->first, consumers);
    if (what.empty()) {
      queue.push_back(&entry->first);
      return;
    }
    if (!said.insert(what).second) return;
    CounterExample example{what, {}};
    for (const State* at = &entry->first; came_from.at(*at).first; at = came_from.at(*at).first)
      example.events.push_back(came_from.at(*at).second);
    std::reverse(example.events.begin(), example.events.end());
    report.invalid.push_back(std::move(example));
  };
  visit(start, nullptr, "");
  while (!queue.empty()) {
    const State* state = queue.front();
    queue.pop_front();
    if (state->next < steps.size() && (!steps[state->next].gated || settled(*state))) {
      State after = *state;
      ++after.next;
      take(steps[state->next], after);
      visit(std::move(after), state, describe(steps[state->next], consumers));
    }
    for (std::size_t i = 0; i < consumers.size(); ++i) {
      if (state->pending[i].empty()) continue;
      State after = *state;
      after.reads[i] = after.pending[i].front();
      after.pending[i].erase(after.pending[i].begin());
      const char* what = after.reads[i] == Reads::kPinned ? "the tag" : "the new paths";
      visit(std::move(after), state, fmt::format("{} now reads {}", consumers[i], what));
    }
  }
  return report;
}

std::vector<Step> steps_in(const std::vector<StepKind>& order, std::size_t consumers, bool gated) {
  std::vector<Step> steps;
  for (const StepKind kind : order) {
    const bool each = kind == StepKind::kPin || kind == StepKind::kFollow;
    for (std::size_t i = 0; i < (each ? consumers : 1); ++i)
      steps.push_back({kind, i, gated && i == 0});
  }
  return steps;
}

std::vector<OrderReport> all_orders(const std::vector<std::string>& consumers, bool gated) {
  std::vector<StepKind> order = {StepKind::kTag, StepKind::kPin, StepKind::kMove,
                                 StepKind::kFollow};
  std::vector<OrderReport> reports;
  do {
    reports.push_back({order, walk_stages(steps_in(order, consumers.size(), gated), consumers)});
  } while (std::next_permutation(order.begin(), order.end()));
  return reports;
}

}  // namespace muster::reorg
