// The checks on whether the run came to its end with every rank in it.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runs/judge_checks.h"

namespace muster::runs::checks {
namespace {

using nlohmann::json;
using End = LauncherResult::End;

/// What an exit code of the trainer or its launcher means; empty: nothing special.
std::string meaning(int code) {
  switch (code) {
    case 2:
      return "bad input";
    case 3:
      return "training failed";
    case 75:
      return "output could not be written";
    case 124:
      return "a collective passed its time limit";
    case 127:
      return "program not found";
    case 130:
      return "interrupted";
    default:
      return code > 128 && code < 128 + 65 ? fmt::format("ended by signal {}", code - 128) : "";
  }
}

/// "all_reduce waited for rank 2 on n3" or so, from the fields of an error event.
std::string describe(const json& error) {
  std::string out = text(error, "kind");
  if (out.empty()) {
    out = "error";
  }
  if (const std::string operation = text(error, "operation"); !operation.empty()) {
    out += " in " + operation;
  }
  if (const auto missing = error.find("missing");
      missing != error.end() && missing->is_array() && !missing->empty()) {
    std::string names;
    for (const json& one : *missing) {
      if (!one.is_object()) {
        continue;
      }
      const std::string host = text(one, "host");
      names += fmt::format("{}rank {}{}", names.empty() ? "" : ", ",
                           integer(one, "rank").value_or(-1), host.empty() ? "" : " on " + host);
    }
    if (!names.empty()) {
      out += ": missing " + names;
    }
  }
  if (const std::string message = text(error, "message"); !message.empty()) {
    out += ": " + message;
  }
  return out;
}

/// Causes before what follows from them: one rank's full disk is every other rank's broken
/// connection.
int cause_order(const std::string& kind) {
  constexpr const char* kOrder[] = {"config",  "data", "io",   "nonfinite",
                                    "timeout", "exit", "comm", "terminated"};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), kind) -
                          std::begin(kOrder));
}

/// Where an attempt begins to count.
long long resumed_from(const Attempt& attempt) {
  return attempt.resume != nullptr ? integer(*attempt.resume, "step").value_or(0) : 0;
}

/// Steps follow one another without a gap, from where the last attempt took up.
void see_steps(const RankView& rank, Seen& seen) {
  for (auto step = rank.steps.begin(); step != rank.steps.end(); ++step) {
    const auto next = std::next(step);
    if (next != rank.steps.end() && next->first != step->first + 1) {
      seen.unknown(fmt::format("{}: no record of the steps between {} and {}", rank.name(),
                               step->first, next->first));
      return;
    }
  }
  const Attempt& last = rank.last();
  const long long from = resumed_from(last);
  if (!last.steps.empty()) {
    const auto first = integer(*last.steps.front(), "step");
    if (first && *first != from + 1) {
      seen.unknown(fmt::format(
          "{}: {} but its first step is {}", rank.name(),
          last.resume != nullptr ? fmt::format("continues from step {}", from) : "starts afresh",
          *first));
    }
  }
}

void see_end(const Material& material, const RankView& rank, Seen& seen) {
  const long long reached =
      rank.steps.empty() ? resumed_from(rank.last()) : rank.steps.rbegin()->first;
  if (rank.last().end == nullptr) {
    seen.unknown(fmt::format("{} left no end event; its last step is {}", rank.name(), reached));
    return;
  }
  const json& end = *rank.last().end;
  const std::string reason = text(end, "reason");
  if (reason == "interrupted") {
    seen.unknown(fmt::format("{} was interrupted at step {}", rank.name(), reached));
  } else if (reason == "error") {
    seen.fail(fmt::format("{} ended by an error at step {}", rank.name(), reached));
  } else if (reason != "complete") {
    seen.unknown(fmt::format("{} does not say why it ended", rank.name()));
  }
  const auto step = integer(end, "step");
  if (!step) {
    seen.unknown(fmt::format("{} does not say at which step it ended", rank.name()));
  } else if (*step != reached) {
    seen.unknown(fmt::format("{} says that it ended at step {}, but its last recorded step is {}",
                             rank.name(), *step, reached));
  } else if (reason == "complete" && material.asked.steps && *step < *material.asked.steps) {
    seen.fail(fmt::format("{} ended at step {} of {}", rank.name(), *step, *material.asked.steps));
  }
}

}  // namespace

void see_launcher(const LauncherResult& launcher, Seen& seen) {
  const std::string detail = launcher.detail.empty() ? "" : ": " + launcher.detail;
  switch (launcher.end) {
    case End::kExited:
      if (!launcher.exit_code) {
        seen.unknown("the launcher's exit code is not known" + detail);
      } else if (*launcher.exit_code != 0) {
        const std::string why = meaning(*launcher.exit_code);
        seen.fail(fmt::format("the launcher exited with {}{}{}", *launcher.exit_code,
                              why.empty() ? "" : fmt::format(" ({})", why), detail));
      }
      break;
    case End::kCancelled:
      seen.unknown("cancelled" + detail);
      break;
    case End::kInterrupted:
      seen.unknown("interrupted" + detail);
      break;
    case End::kTimedOut:
      seen.fail("ended at the run's time limit" + detail);
      break;
    case End::kHang:
      seen.fail("hung and was ended" + detail);
      break;
    case End::kStartFailed:
      seen.fail("not all of it started" + detail);
      break;
    case End::kNotStarted:
      seen.unknown("not started" + detail);
      break;
    case End::kUnknown:
      seen.unknown("how the launcher ended is not known" + detail);
      break;
  }
}

void see_errors(const Material& material, Seen& seen) {
  std::map<std::pair<int, std::string>, std::vector<int>> errors;
  for (const RankView& rank : material.ranks) {
    for (const Attempt::Event error : rank.last().errors) {
      errors[{cause_order(text(*error, "kind")), describe(*error)}].push_back(rank.rank);
    }
  }
  for (const auto& [what, who] : errors) {
    const RankView* one = who.size() == 1 ? material.find(who.front()) : nullptr;
    const std::string line =
        fmt::format("{}: {}", one != nullptr ? one->name() : "ranks " + ranges(who), what.second);
    if (material.cut_short()) {
      seen.unknown(line);
    } else {
      seen.fail(line);
    }
  }
}

/// A launcher that lost a rank does not always say which: then those are named that stopped without
/// a word.
LauncherResult with_the_silent(const Material& material) {
  LauncherResult launcher = material.launcher;
  if (launcher.end != End::kExited || launcher.exit_code.value_or(0) == 0 ||
      !launcher.detail.empty()) {
    return launcher;
  }
  std::vector<int> silent = material.absent();
  for (const RankView& rank : material.ranks) {
    if (!rank.source->events.empty() && rank.last().end == nullptr) silent.push_back(rank.rank);
  }
  std::sort(silent.begin(), silent.end());
  silent.erase(std::unique(silent.begin(), silent.end()), silent.end());
  if (!silent.empty()) {
    launcher.detail = fmt::format("{} {} left no end event", silent.size() == 1 ? "rank" : "ranks",
                                  ranges(silent));
  }
  return launcher;
}

Check completed(const Material& material) {
  Seen seen("completed");
  see_errors(material, seen);
  see_launcher(with_the_silent(material), seen);
  for (const RankView& rank : material.ranks) {
    for (const Finding& finding : rank.source->findings) {
      seen.unknown(fmt::format("{}: {}", to_string(finding.where), finding.message));
    }
    if (rank.source->events.empty()) {
      continue;
    }
    see_end(material, rank, seen);
    see_steps(rank, seen);
  }
  if (const auto absent = material.absent(); !absent.empty()) {
    seen.unknown(
        fmt::format("no events of {} {}", absent.size() == 1 ? "rank" : "ranks", ranges(absent)));
  }
  std::map<long long, std::vector<int>> continued;
  std::size_t attempts = 1;
  for (const RankView& rank : material.ranks) {
    attempts = std::max(attempts, rank.attempts.size());
    continued[resumed_from(rank.last())].push_back(rank.rank);
  }
  if (continued.size() > 1) {
    std::string places;
    for (const auto& [step, who] : continued) {
      places +=
          fmt::format("{}ranks {} from step {}", places.empty() ? "" : ", ", ranges(who), step);
    }
    seen.fail("the ranks continue from different places: " + places);
  }
  if (seen.none_worse_than_pass()) {
    const RankView* witness = material.find(0);
    const long long step =
        witness == nullptr ? 0 : integer(*witness->last().end, "step").value_or(0);
    std::string what =
        material.asked.world == 1
            ? fmt::format("the one rank ended at step {}", step)
            : fmt::format("all {} ranks ended at step {}", material.asked.world, step);
    if (attempts > 1) {
      what += fmt::format(", in {} attempts, the last from step {}", attempts,
                          continued.begin()->first);
    }
    seen.pass(what + "; the launcher exited with 0");
  }
  return seen.check();
}

namespace {

/// What the program itself says of its rank and world counts more than what it was started with.
void see_joined(const Material& material, const RankView& rank, Seen& seen) {
  long long world = 0;
  std::string by;
  for (const Attempt::Event joined : rank.last().joined) {
    if (const auto says = integer(*joined, "rank"); says && *says != rank.rank) {
      seen.fail(fmt::format("the program that was started as {} calls itself rank {}", rank.name(),
                            *says));
    }
    if (const auto says = integer(*joined, "world"); says && *says > world) {
      world = *says;
      by = text(*joined, "by");
    }
  }
  if (world > 0 && world != material.asked.world) {
    seen.fail(fmt::format("{} has found a world of {} ({}), {} {} asked for", rank.name(), world,
                          by, material.asked.world,
                          material.asked.world == 1 ? "rank was" : "ranks were"));
  }
}

/// "; gloo says a world of 2 on ranks 0-1", or nothing.
std::string own_words(const Material& material) {
  std::map<std::string, std::vector<int>> who;
  for (const RankView& rank : material.ranks) {
    for (const Attempt::Event joined : rank.last().joined) {
      if (integer(*joined, "world") == material.asked.world)
        who[text(*joined, "by")].push_back(rank.rank);
    }
  }
  std::string words;
  for (const auto& [by, ranks] : who) {
    words +=
        fmt::format("; {} says a world of {} on ranks {}", by, material.asked.world, ranges(ranks));
  }
  return words;
}

}  // namespace

Check ranks_joined(const Material& material) {
  Seen seen("ranks-joined");
  const int world = material.asked.world;
  if (std::all_of(material.ranks.begin(), material.ranks.end(),
                  [](const RankView& r) { return r.source->events.empty(); })) {
    seen.unknown("no rank left events");
    return seen.check();
  }
  if (const auto absent = material.absent(); !absent.empty()) {
    seen.fail(fmt::format("{} {} of {} never joined", absent.size() == 1 ? "rank" : "ranks",
                          ranges(absent), world));
  }
  std::map<std::string, std::vector<int>> hosts;
  std::set<int> taken;
  for (const RankView& rank : material.ranks) {
    if (rank.source->events.empty()) {
      continue;
    }
    if (!material.wanted(rank.rank)) {
      seen.fail(fmt::format("{} is not of a world of {}", rank.name(), world));
    }
    if (!taken.insert(rank.rank).second) {
      seen.fail(fmt::format("rank {} is there twice ({})", rank.rank, rank.source->file));
    }
    if (rank.last().start == nullptr) {
      seen.unknown(fmt::format("rank {} left no start event", rank.rank));
      continue;
    }
    const json& start = *rank.last().start;
    const auto says_world = integer(start, "world");
    const auto says_rank = integer(start, "rank");
    if (!says_world || !says_rank) {
      seen.unknown(fmt::format("{} does not say its rank and world", rank.name()));
      continue;
    }
    if (*says_rank != rank.rank) {
      seen.fail(fmt::format("{} calls itself rank {}", rank.source->file, *says_rank));
    }
    if (*says_world != world) {
      seen.fail(fmt::format("{} is in a world of {}, {} {} asked for", rank.name(), *says_world,
                            world, world == 1 ? "rank was" : "ranks were"));
    }
    see_joined(material, rank, seen);
    hosts[rank.host.empty() ? "an unnamed host" : rank.host].push_back(rank.rank);
  }
  if (seen.none_worse_than_pass()) {
    std::string places;
    for (const auto& [host, who] : hosts) {
      places += fmt::format("{}{}: {}", places.empty() ? "" : "; ", host, ranges(who));
    }
    seen.pass(fmt::format("{} of {} {} on {} {} ({}){}", taken.size(), world,
                          world == 1 ? "rank" : "ranks", hosts.size(),
                          hosts.size() == 1 ? "host" : "hosts", places, own_words(material)));
  }
  return seen.check();
}

Check parameters_agree(const Material& material) {
  Seen seen("parameters-agree");
  std::map<std::string, std::vector<int>> hashes;
  for (int rank = 0; rank < material.asked.world; ++rank) {
    const RankView* one = material.find(rank);
    const std::string hash = one != nullptr && one->last().end != nullptr
                                 ? text(*one->last().end, "parameter_hash")
                                 : "";
    if (hash.empty()) {
      seen.unknown(fmt::format("no parameter hash of {}",
                               one != nullptr ? one->name() : fmt::format("rank {}", rank)));
    } else {
      hashes[hash].push_back(rank);
    }
  }
  if (hashes.size() > 1) {
    // The largest group (the one with the lowest rank among equals) is what the others differ from.
    const auto most =
        std::max_element(hashes.begin(), hashes.end(), [](const auto& a, const auto& b) {
          return std::pair(a.second.size(), -a.second.front()) <
                 std::pair(b.second.size(), -b.second.front());
        });
    for (const auto& [hash, who] : hashes) {
      if (hash != most->first) {
        std::string hosts;
        for (const int rank : who) {
          hosts += (hosts.empty() ? "" : ", ") + material.find(rank)->name();
        }
        seen.fail(fmt::format("{}: {:.16}, unlike ranks {}: {:.16}", hosts, hash,
                              ranges(most->second), most->first));
      }
    }
  } else if (hashes.size() == 1) {
    seen.pass(fmt::format("{:.16} on all {} ranks", hashes.begin()->first, material.asked.world));
  }
  return seen.check();
}

}  // namespace muster::runs::checks
