#include "bench/hunt_run.h"

#include <algorithm>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/text.h"
#include "base/words.h"
#include "bench/baseline.h"
#include "bench/judge_checks.h"
#include "bench/read.h"

namespace muster::bench {
namespace {

/// Runs the trials of one round and adds what they said.
class Rounds {
 public:
  Rounds(const std::vector<std::string>& names, const HuntCommand& command,
         ProcessRunner& processes)
      : names_(names), command_(command), processes_(processes) {}

  /// The measurements of this round, in the order of its trials.
  std::vector<Measurement> run(const Round& round, HuntOutcome& outcome) {
    const int number = outcome.rounds++;
    std::vector<Measurement> measured(round.trials.size());
    std::vector<std::string> outputs(round.trials.size());
    std::vector<char> stopped(round.trials.size(), 0);
    const auto one = [&](std::size_t at) {
      Command command;
      command.argv = {
          "/bin/sh", "-c",
          trial_command(command_, round.trials[at], names_, number, static_cast<int>(at))};
      command.time_limit = command_.limit;
      const auto result = processes_.run(command);
      Measurement& into = measured[at];
      if (!result) {
        into = {
            round.trials[at].nodes, std::nullopt, number, {}, result.findings().front().message};
        return;
      }
      outputs[at] = result->out + result->err;
      stopped[at] = result->interrupted ? 1 : 0;
      into = measure_output(round.trials[at], number, outputs[at], result->exit_code);
      if (result->timed_out) {
        into.rate.reset();
        into.what = fmt::format("did not end within {} s", command_.limit.count() / 1000);
      }
    };
    if (command_.parallel && round.trials.size() > 1) {
      std::vector<std::thread> threads;
      for (std::size_t at = 0; at < round.trials.size(); ++at) threads.emplace_back(one, at);
      for (std::thread& thread : threads) thread.join();
    } else {
      for (std::size_t at = 0; at < round.trials.size(); ++at) one(at);
    }
    outcome.interrupted =
        outcome.interrupted || std::count(stopped.begin(), stopped.end(), 1) > 0 || interrupted();
    outcome.measurements.insert(outcome.measurements.end(), measured.begin(), measured.end());
    outcome.outputs.insert(outcome.outputs.end(), outputs.begin(), outputs.end());
    return measured;
  }

 private:
  const std::vector<std::string>& names_;
  const HuntCommand& command_;
  ProcessRunner& processes_;
};

/// Trials that ended with a rate.
std::size_t rated(const std::vector<Measurement>& measurements) {
  return static_cast<std::size_t>(
      std::count_if(measurements.begin(), measurements.end(),
                    [](const Measurement& one) { return one.rate.value_or(0) > 0; }));
}

std::vector<std::vector<int>> named_by(const HuntResult& result) {
  std::vector<std::vector<int>> nodes;
  for (const Slow& slow : result.slow) nodes.push_back(slow.nodes);
  return nodes;
}

void run_pairs(int nodes, bool all_pairs, const HuntSettings& settings, Rounds& rounds,
               const HuntProgress& progress, HuntOutcome& outcome) {
  const auto plan = round_robin(nodes);
  const int most = all_pairs ? static_cast<int>(plan.size()) : node_rounds(nodes);
  std::vector<std::vector<int>> before;
  for (int round = 0; round < most && !outcome.interrupted; ++round) {
    rounds.run(plan[static_cast<std::size_t>(round)], outcome);
    outcome.result = judge_pairs(nodes, outcome.measurements, settings);
    if (progress) progress(round, outcome.result);
    const auto named = named_by(outcome.result);
    if (!all_pairs && !named.empty() && named == before && outcome.result.single.empty()) break;
    before = named;
  }
}

void run_bisection(int nodes, const HuntSettings& settings, Rounds& rounds,
                   const HuntProgress& progress, HuntOutcome& outcome) {
  std::vector<int> suspects(static_cast<std::size_t>(nodes)), cleared;
  for (int node = 0; node < nodes; ++node) suspects[static_cast<std::size_t>(node)] = node;
  double drop = 0;
  std::optional<int> half;
  std::vector<Measurement> last;
  while (suspects.size() > 1 && !outcome.interrupted) {
    last = rounds.run(halves(suspects, cleared), outcome);
    const double first = last[0].rate.value_or(0), second = last[1].rate.value_or(0);
    // A half that did not come to an end is the slow one.
    half = first <= 0 && second > 0   ? std::optional(0)
           : second <= 0 && first > 0 ? std::optional(1)
                                      : slow_half(first, second, settings);
    if (!half) break;
    drop = 1 - std::min(first, second) / std::max(first, second);
    const auto& bad = last[static_cast<std::size_t>(*half)].nodes;
    std::vector<int> next;
    for (const int node : suspects) {
      const bool in = std::find(bad.begin(), bad.end(), node) != bad.end();
      (in ? next : cleared).push_back(node);
    }
    suspects = std::move(next);
    if (progress) progress(outcome.rounds - 1, outcome.result);
  }
  outcome.result.measurements = rated(outcome.measurements);
  if (half && suspects.size() == 1) {
    outcome.result.slow.push_back({suspects, drop, outcome.rounds, false});
  } else if (rated(last) < last.size()) {
    outcome.result.untested = suspects;  // neither half came to an end
  } else if (!cleared.empty()) {
    outcome.result.single = suspects;  // their half was slow, and its halves do not differ
  }
}

void run_growing(int nodes, const HuntSettings& settings, Rounds& rounds,
                 const HuntProgress& progress, HuntOutcome& outcome) {
  std::vector<int> order(static_cast<std::size_t>(nodes));
  for (int node = 0; node < nodes; ++node) order[static_cast<std::size_t>(node)] = node;
  for (const Round& round : growing_groups(order)) {
    rounds.run(round, outcome);
    if (progress) progress(outcome.rounds - 1, outcome.result);
    if (outcome.interrupted || !slow_joiners(outcome.measurements, settings).empty()) break;
  }
  const auto joiners = slow_joiners(outcome.measurements, settings);
  const auto& last = outcome.measurements.back();
  if (!last.rate) {
    outcome.result.untested = last.nodes;
  } else if (joiners.size() == 1) {
    // Groups that fell short have one before them that did not.
    const auto good = std::find_if(outcome.measurements.begin(), outcome.measurements.end(),
                                   [](const Measurement& one) { return one.rate.value_or(0) > 0; });
    outcome.result.slow.push_back({joiners, 1 - *last.rate / *good->rate, outcome.rounds, false});
  } else {
    outcome.result.single = joiners;
  }
  outcome.result.measurements = rated(outcome.measurements);
}

void run_all_to_all(const std::vector<std::string>& names, const HuntSettings& settings,
                    Rounds& rounds, const HuntProgress& progress, HuntOutcome& outcome) {
  const int nodes = static_cast<int>(names.size());
  Round everybody;
  everybody.trials.push_back({});
  for (int node = 0; node < nodes; ++node) everybody.trials[0].nodes.push_back(node);
  const Measurement whole = rounds.run(everybody, outcome).front();
  auto told = measure_all_pairs(outcome.outputs.front(), names, 0);
  // An all-to-all that failed tells nothing, and one without rates of pairs no more.
  if (!whole.what.empty()) told.clear();
  if (whole.what.empty() && told.empty())
    outcome.measurements.front().what = "its output tells no pair of these nodes";
  outcome.measurements.front().rate.reset();
  if (!told.empty()) outcome.measurements.clear();  // it is its pairs
  outcome.measurements.insert(outcome.measurements.end(), told.begin(), told.end());
  const HuntResult suspects = judge_pairs(nodes, outcome.measurements, for_first_look(settings));
  outcome.result = judge_pairs(nodes, outcome.measurements, settings);
  if (progress) progress(0, outcome.result);
  for (const Round& round : confirming_rounds(nodes, suspects)) {
    if (outcome.interrupted || told.empty()) break;
    rounds.run(round, outcome);
    outcome.result = judge_pairs(nodes, outcome.measurements, settings);
    if (progress) progress(outcome.rounds - 1, outcome.result);
  }
}

}  // namespace

std::string trial_command(const HuntCommand& command, const Trial& trial,
                          const std::vector<std::string>& names, int round, int number) {
  std::vector<std::string> nodes;
  for (const int node : trial.nodes) nodes.push_back(names.at(static_cast<std::size_t>(node)));
  const std::pair<std::string, std::string> values[] = {
      {"{nodes}", fmt::format("{}", fmt::join(nodes, ","))},
      {"{count}", fmt::format("{}", nodes.size())},
      {"{first}", nodes.empty() ? std::string() : nodes[0]},
      {"{second}", nodes.size() < 2 ? std::string() : nodes[1]},
      {"{round}", fmt::format("{}", round)},
      {"{trial}", fmt::format("{}", number)}};
  std::string text = command.command;
  for (const auto& [name, value] : values) {
    for (std::size_t at = text.find(name); at != std::string::npos;
         at = text.find(name, at + value.size())) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

std::string_view printed_json(std::string_view output) {
  const std::size_t begin = output.starts_with("{\n") ? 0 : output.find("\n{\n");
  const std::size_t end = output.rfind("\n}");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
    return output;
  return output.substr(begin, end + 2 - begin);
}

Measurement measure_output(const Trial& trial, int round, const std::string& output,
                           int exit_code) {
  Measurement measured{trial.nodes, std::nullopt, round, {}, {}};
  const auto log = read_log(printed_json(output), "trial");
  if (!log) {
    measured.what = log.findings().front().message;
    return measured;
  }
  const Record* largest = nullptr;
  for (const Run& run : log->runs) {
    if (!run.wrong.empty()) {
      measured.what = "wrong data: " + run.wrong.front().text;
      return measured;
    }
    for (const Record& record : run.records) {
      if (!rate_of(record) && !record.time) continue;
      const bool larger = largest == nullptr || record.size.value_or(0) > largest->size.value_or(0);
      const bool faster = largest != nullptr && record.size == largest->size &&
                          rate_of(record).value_or(0) > rate_of(*largest).value_or(0);
      if (larger || faster) largest = &record;
    }
  }
  if (exit_code != 0) {
    std::string_view last = output;
    while (!last.empty() && (last.back() == '\n' || last.back() == ' ')) last.remove_suffix(1);
    last.remove_prefix(last.rfind('\n') == std::string_view::npos ? 0 : last.rfind('\n') + 1);
    measured.what = fmt::format("exit code {}: {}", exit_code, last);
    return measured;
  }
  if (const auto apart = separate_runs(*log)) {
    measured.what = *apart;
    return measured;
  }
  if (largest == nullptr) {
    measured.what = "nothing in its output was understood as a result";
    return measured;
  }
  measured.rate = rate_of(*largest);
  if (measured.rate.value_or(0) <= 0 && largest->time.value_or(0) > 0) {
    // Tables print two decimals of a GB/s, which leaves nothing of a slow network; some tools print
    // no rate at all.
    const double bytes = measured.rate ? static_cast<double>(largest->size.value_or(1000)) : 1000;
    measured.rate = bytes / *largest->time / 1e3;
  }
  if (measured.rate.value_or(0) <= 0) {
    measured.rate.reset();
    measured.what = "its rate is nought";
  }
  return measured;
}

HuntOutcome run_hunt(const std::vector<std::string>& names, const HuntCommand& command,
                     Strategy strategy, bool all_pairs, const HuntSettings& settings,
                     ProcessRunner& processes, const HuntProgress& progress) {
  HuntOutcome outcome;
  Rounds rounds(names, command, processes);
  const int nodes = static_cast<int>(names.size());
  switch (strategy) {
    case Strategy::kPairs:
      run_pairs(nodes, all_pairs, settings, rounds, progress, outcome);
      break;
    case Strategy::kBisect:
      run_bisection(nodes, settings, rounds, progress, outcome);
      break;
    case Strategy::kGrow:
      run_growing(nodes, settings, rounds, progress, outcome);
      break;
    case Strategy::kAllToAll:
      run_all_to_all(names, settings, rounds, progress, outcome);
      break;
  }
  return outcome;
}

Result<std::vector<std::string>> expand_node_list(const std::string& text) {
  constexpr std::size_t kMost = 100000;
  std::vector<std::string> names;
  const auto bad = [&text](const std::string& why) {
    return failure("node-list", fmt::format("\"{}\": {}", text, why), "e.g. n[1-4,7],login");
  };
  std::size_t at = 0;
  while (at < text.size()) {
    // One part: up to a comma that is not inside brackets.
    std::size_t end = at;
    int depth = 0;
    while (end < text.size() && (depth > 0 || text[end] != ',')) {
      depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
      if (depth < 0 || depth > 1) return bad("unbalanced brackets");
      ++end;
    }
    if (depth != 0) return bad("unbalanced brackets");
    const std::string part(trimmed(std::string_view(text).substr(at, end - at)));
    at = end + 1;
    if (part.empty()) return bad("an empty name");
    const std::size_t open = part.find('['), close = part.find(']');
    if (open == std::string::npos) {
      names.push_back(part);
      continue;
    }
    if (part.find('[', close) != std::string::npos) return bad("more than one pair of brackets");
    const std::string stem = part.substr(0, open), tail = part.substr(close + 1);
    const std::string inside = part.substr(open + 1, close - open - 1);
    for (std::size_t from = 0; from <= inside.size();) {
      const std::size_t comma = std::min(inside.find(',', from), inside.size());
      const std::string range = inside.substr(from, comma - from);
      from = comma + 1;
      const std::size_t dash = range.find('-');
      const std::string low = range.substr(0, dash);
      const auto first = whole(low);
      const auto last = dash == std::string::npos ? first : whole(range.substr(dash + 1));
      if (!first || !last || *last < *first) return bad("\"" + range + "\" is no range");
      if (*last - *first + names.size() >= kMost) return bad("too many names");
      for (std::uint64_t number = *first; number <= *last; ++number)
        names.push_back(fmt::format("{}{:0{}}{}", stem, number, low.size(), tail));
    }
  }
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) return bad(name + " is named twice");
  }
  return names;
}

}  // namespace muster::bench
