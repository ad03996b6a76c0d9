// The checks of runs whose events were read from the logs of a foreign program (log_reader.h).
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "runs/judge_checks.h"

namespace muster::runs::checks {
namespace {

using nlohmann::json;

/// What was read of all logs together.
struct Reading {
  long long lines = 0, steps = 0, unread = 0;
  std::string first_unread;
  std::map<std::string, long long> patterns;
  int ranks_without_asked = 0, ranks_with_asked = 0;  ///< that expect.pattern did (not) match
};

Reading reading_of(const Material& material) {
  Reading all;
  for (const RankView& rank : material.ranks) {
    if (rank.last().log == nullptr) continue;
    const json& log = *rank.last().log;
    all.lines += integer(log, "lines").value_or(0);
    all.steps += integer(log, "steps").value_or(0);
    all.unread += integer(log, "unread").value_or(0);
    if (all.first_unread.empty()) all.first_unread = text(log, "first_unread");
    if (const auto patterns = log.find("patterns");
        patterns != log.end() && patterns->is_object()) {
      for (const auto& [name, count] : patterns->items()) {
        if (count.is_number_integer()) all.patterns[name] += count.get<long long>();
      }
    }
    if (const auto asked = log.find("asked_pattern"); asked != log.end() && asked->is_boolean())
      ++(asked->get<bool>() ? all.ranks_with_asked : all.ranks_without_asked);
  }
  return all;
}

/// "; 3 lines speak of a loss in a form that is not known: …", or nothing.
std::string unread_words(const Reading& reading) {
  if (reading.unread == 0) return {};
  return fmt::format("; {} {} of a loss in a form that is not known, the first: {}", reading.unread,
                     reading.unread == 1 ? "line speaks" : "lines speak", reading.first_unread);
}

void see_processes(const Material& material, Seen& seen) {
  for (const RankView& rank : material.ranks) {
    for (const Finding& finding : rank.source->findings)
      seen.unknown(fmt::format("{}: {}", to_string(finding.where), finding.message));
    if (rank.source->events.empty()) continue;
    const Attempt& last = rank.last();
    if (last.end == nullptr) {
      const long long step = rank.steps.empty() ? 0 : rank.steps.rbegin()->first;
      const std::string where = step > 0 ? fmt::format(" after step {}", step) : std::string();
      const auto pid = last.start != nullptr ? integer(*last.start, "pid") : std::nullopt;
      seen.fail(fmt::format("{}: its process{} left no end{}: it was killed, or its node is gone",
                            rank.name(), pid ? fmt::format(" {}", *pid) : "", where));
    } else if (text(*last.end, "reason").empty()) {
      seen.unknown(fmt::format("{}: how its process ended is not known", rank.name()));
    }
  }
  if (const auto absent = material.absent(); !absent.empty()) {
    seen.unknown(
        fmt::format("no log of {} {}", absent.size() == 1 ? "rank" : "ranks", ranges(absent)));
  }
}

/// The largest distance between two records: a program that logs every tenth step does not tell the
/// last five.
long long stride(const RankView& rank) {
  long long widest = 1;
  // The first record's step is no distance: a run that was taken up again begins anywhere.
  long long before = rank.steps.begin()->first;
  for (const auto& [step, event] : rank.steps) {
    widest = std::max(widest, step - before);
    before = step;
  }
  return widest;
}

bool is_counted(const RankView& rank) {
  return std::any_of(rank.steps.begin(), rank.steps.end(),
                     [](const auto& step) { return step.second->contains("counted"); });
}

void see_reached(const Material& material, const RankView& witness, Seen& seen) {
  if (!material.asked.steps || is_counted(witness)) return;
  const long long asked = *material.asked.steps;
  const long long reached = witness.steps.rbegin()->first;
  // Of one record, the way to it is the only distance that is known, and it excuses nothing.
  const bool alone = witness.steps.size() == 1;
  if (reached < asked && reached + (alone ? reached : stride(witness)) <= asked) {
    seen.fail(fmt::format("{}: the last step that its log tells is {} of {}", witness.name(),
                          reached, asked));
  } else if (reached < asked && alone) {
    seen.unknown(
        fmt::format("{}: its log tells one step, {} of {}", witness.name(), reached, asked));
  } else if (reached > asked) {
    seen.unknown(fmt::format("{}: its log tells a step {}, {} were asked for", witness.name(),
                             reached, asked));
  }
}

}  // namespace

Check completed_by_log(const Material& material) {
  Seen seen("completed");
  see_errors(material, seen);
  see_launcher(material.launcher, seen);
  see_processes(material, seen);
  const Reading reading = reading_of(material);
  if (reading.ranks_with_asked == 0 && reading.ranks_without_asked > 0)
    seen.unknown("no line matches expect.pattern");
  const RankView* witness = material.witness();
  if (!material.asked.steps_told) {
    if (seen.none_worse_than_pass())
      seen.pass(fmt::format("all {} processes ended with 0", material.asked.world));
    return seen.check();
  }
  if (witness == nullptr) {
    seen.unknown(fmt::format("no step was found in the {} lines of the logs{}", reading.lines,
                             unread_words(reading)));
    return seen.check();
  }
  see_reached(material, *witness, seen);
  if (seen.none_worse_than_pass()) {
    std::string patterns;
    for (const auto& [name, count] : reading.patterns)
      patterns += fmt::format("{}{} {}", patterns.empty() ? "" : ", ", name, count);
    std::size_t attempts = 1;
    for (const RankView& rank : material.ranks) attempts = std::max(attempts, rank.attempts.size());
    const long long reached = witness->steps.rbegin()->first;
    const std::string last =
        is_counted(*witness) ? fmt::format("{} records of the loss", witness->steps.size())
        : material.asked.steps
            ? fmt::format("the log tells step {} of {}", reached, *material.asked.steps)
            : fmt::format("the log tells {} as the last step", reached);
    seen.pass(fmt::format("{} ended with 0{}; {} ({} lines by pattern: {}){}",
                          material.asked.world == 1
                              ? std::string("the one process")
                              : fmt::format("all {} processes", material.asked.world),
                          attempts > 1 ? fmt::format(", in {} starts", attempts) : "", last,
                          reading.lines, patterns, unread_words(reading)));
  }
  return seen.check();
}

Check transport_by_log(const Material& material) {
  Seen seen("transport");
  const std::string& asked = material.asked.transport;
  std::map<std::string, std::vector<int>> used;
  std::string fabric;
  for (const RankView& rank : material.ranks) {
    for (const Attempt::Event joined : rank.last().joined) {
      if (const std::string name = text(*joined, "transport"); !name.empty())
        used[name].push_back(rank.rank);
      if (const std::string name = text(*joined, "fabric"); !name.empty()) fabric = name;
    }
  }
  if (used.empty()) {
    seen.unknown(fmt::format("{} was asked for, no log says what was used", asked));
    return seen.check();
  }
  for (const auto& [name, who] : used) {
    const std::string line = fmt::format("{}{}, as the logs of ranks {} say", name,
                                         fabric.empty() ? "" : " over " + fabric, ranges(who));
    // Programs use Gloo beside NCCL, for what is not on the accelerator.
    if (used.contains(asked)) {
      if (name == asked) seen.pass(line + "; it was asked for");
    } else {
      seen.fail(fmt::format("{}; {} was asked for", line, asked));
    }
  }
  return seen.check();
}

bool tells_speed(const Material& material) {
  const RankView* witness = material.witness();
  return witness != nullptr &&
         std::any_of(witness->last().steps.begin(), witness->last().steps.end(),
                     [](Attempt::Event step) { return number(*step, "tokens_per_second"); });
}

}  // namespace muster::runs::checks
