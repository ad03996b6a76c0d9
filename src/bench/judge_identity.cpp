// Whether a log is of the run that was meant: how many ranks took part in one communication, and
// over which network.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "bench/judge_checks.h"

namespace muster::bench {
namespace {

std::string ranks_words(int ranks) {
  return ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks);
}

int last_line(const Run& run) {
  int last = run.line;
  for (const Device& device : run.devices) last = std::max(last, device.line);
  for (const Record& record : run.records) last = std::max(last, record.line);
  return last;
}

/// Two starts of one program side by side: both began before either ended, or each of them stays
/// on a host of its own.
bool are_apart(const Run& a, const Run& b) {
  if (a.tool != b.tool || a.operation != b.operation) return false;
  const bool overlap = a.line <= last_line(b) && b.line <= last_line(a);
  const auto hosts_a = hosts_of(a), hosts_b = hosts_of(b);
  if (hosts_a.size() == 1 && hosts_b.size() == 1 && hosts_a != hosts_b) return true;
  const bool streams = !a.stream.empty() && !b.stream.empty() && a.stream != b.stream;
  return overlap || (streams && ranks_of(a) == ranks_of(b) && hosts_a.size() < 2);
}

/// Runs of the tools that start one header for all ranks.
bool has_world(const Run& run) {
  return run.tool == "nccl-tests" || run.tool == "rccl-tests" || run.tool == "osu" ||
         run.tool == "imb" || run.tool == "nvshmem" || run.tool == "nccom-test" ||
         run.tool == "deepep" || run.tool == "pplx-kernels" || run.tool == "muster-bench";
}

}  // namespace

std::optional<int> nodes_for(const Run& run, const facts::Instance* instance) {
  if (const auto nodes = nodes_of(run)) return nodes;
  const auto ranks = ranks_of(run);
  if (!ranks || instance == nullptr || !instance->accelerators ||
      !instance->accelerators->count.has_value()) {
    return std::nullopt;
  }
  const int each = *instance->accelerators->count;
  return *ranks % each == 0 ? std::optional(*ranks / each) : std::nullopt;
}

std::optional<std::string> separate_runs(const Log& log) {
  if (!log.separate.empty()) return log.separate;
  std::vector<const Run*> apart;
  for (std::size_t i = 0; i < log.runs.size(); ++i) {
    for (std::size_t j = 0; j < log.runs.size(); ++j) {
      if (i == j || !has_world(log.runs[i]) || !are_apart(log.runs[i], log.runs[j])) continue;
      apart.push_back(&log.runs[i]);
      break;
    }
  }
  if (apart.size() < 2) return std::nullopt;
  std::vector<std::string> each;
  std::set<int> sizes;
  for (const Run* run : apart) {
    const auto ranks = ranks_of(*run);
    if (ranks) sizes.insert(*ranks);
    each.push_back(fmt::format("line {}{}", run->line,
                               hosts_of(*run).empty()
                                   ? std::string()
                                   : fmt::format(" on {}", fmt::join(hosts_of(*run), ", "))));
  }
  const std::string size =
      sizes.size() == 1 ? fmt::format(" of {} each", ranks_words(*sizes.begin())) : std::string();
  return fmt::format("{} separate runs{} ({}), not one: every process ran on its own", apart.size(),
                     size, fmt::join(each, "; "));
}

void check_world(const std::vector<Log>& logs, const JudgeOptions& options,
                 const JudgeReferences& references, Verdict& verdict) {
  std::vector<std::string> bad, missing, good;
  const auto asked = options.expect_ranks ? fmt::format(", expected {}", *options.expect_ranks)
                     : options.nodes      ? fmt::format(", expected {} nodes", *options.nodes)
                                          : std::string();
  for (const Log& log : logs) {
    if (const auto apart = separate_runs(log)) {
      const auto ranks = ranks_of(log.runs.front());
      bad.push_back(fmt::format("{}: world size {}{}: {}; a program built without MPI does that",
                                log.file, ranks ? fmt::format("{}", *ranks) : "unknown", asked,
                                *apart));
      continue;
    }
    if (log.runs.empty() && log.nranks && options.expect_ranks &&
        *log.nranks != *options.expect_ranks) {
      bad.push_back(fmt::format("{}: NCCL made a world of {}{}", log.file, *log.nranks, asked));
    }
    for (const Run& run : log.runs) {
      if (!has_world(run)) continue;
      const std::string where = place(log, run.line);
      auto ranks = ranks_of(run);
      if (!ranks) ranks = log.nranks;
      const auto nodes = nodes_for(run, references.instance);
      if (options.expect_ranks) {
        if (!ranks) {
          missing.push_back(fmt::format("{} does not say how many ranks took part", where));
        } else if (*ranks != *options.expect_ranks) {
          bad.push_back(
              fmt::format("{}: world size {}, expected {}", where, *ranks, *options.expect_ranks));
        }
      }
      if (options.nodes) {
        if (!nodes) {
          missing.push_back(fmt::format("{} does not say how many nodes took part", where));
        } else if (*nodes != *options.nodes) {
          bad.push_back(fmt::format("{}: {} {}, expected {}", where, *nodes,
                                    *nodes == 1 ? "node" : "nodes", *options.nodes));
        }
      }
      if (!options.expect_ranks && !options.nodes && ranks == 1) {
        missing.push_back(fmt::format(
            "{}: world size 1, nothing travelled between ranks; --expect-ranks 1 if that is meant",
            where));
      }
      if (ranks) {
        good.push_back(nodes ? fmt::format("{} on {} {}", ranks_words(*ranks), *nodes,
                                           *nodes == 1 ? "node" : "nodes")
                             : ranks_words(*ranks));
      }
    }
  }
  if (!bad.empty()) {
    verdict.add("world-size", Outcome::kFail, fmt::format("{}", fmt::join(bad, "; ")));
  } else if (!missing.empty()) {
    verdict.add("world-size", Outcome::kUnknown, fmt::format("{}", fmt::join(missing, "; ")));
  } else if (!good.empty()) {
    std::sort(good.begin(), good.end());
    good.erase(std::unique(good.begin(), good.end()), good.end());
    verdict.add("world-size", Outcome::kPass, fmt::format("{}", fmt::join(good, "; ")));
  }
}

void check_transport(const std::vector<Log>& logs, const JudgeOptions& options,
                     const JudgeReferences& references, Verdict& verdict) {
  std::vector<std::string> bad, missing, good;
  for (const Log& log : logs) {
    int nodes = options.nodes.value_or(0);
    for (const Run& run : log.runs)
      nodes = std::max(nodes, nodes_for(run, references.instance).value_or(0));
    const Transport *fast = nullptr, *slow = nullptr, *failed = nullptr;
    bool chosen_fast = false;
    for (const Transport& transport : log.transports) {
      const bool chosen = transport.text.find("Using network") != std::string::npos ||
                          transport.text.find("rovider is") != std::string::npos;
      switch (transport.kind) {
        case Transport::Kind::kFast:
          if (fast == nullptr || (chosen && !chosen_fast)) fast = &transport;
          chosen_fast = chosen_fast || chosen;
          break;
        case Transport::Kind::kSlow:
          // What was chosen says more than what was looked at.
          if (slow == nullptr || (chosen && slow->text.find("Using network") == std::string::npos))
            slow = &transport;
          break;
        case Transport::Kind::kFailed:
          if (failed == nullptr) failed = &transport;
          break;
      }
    }
    if (slow != nullptr && chosen_fast && slow->text.find("Using network") == std::string::npos)
      slow = nullptr;
    const bool sockets_asked = options.transport == "socket" || options.transport == "tcp";
    if (slow != nullptr && !sockets_asked && nodes != 1) {
      const bool fell_back = failed != nullptr || fast != nullptr ||
                             (references.instance != nullptr &&
                              references.instance->network.efa_count.value_or(0) > 0);
      bad.push_back(fmt::format(
          "{}{}: {}{}", fell_back ? "transport-fallback at " : "sockets at ",
          place(log, slow->line), slow->text,
          failed != nullptr
              ? fmt::format("; before that {}: {}", place(log, failed->line), failed->text)
              : std::string()));
      continue;
    }
    if (!options.transport.empty() && !sockets_asked) {
      const bool same =
          fast != nullptr && (options.transport == "any" || fast->name == options.transport ||
                              (options.transport == "efa" && fast->name == "libfabric"));
      if (fast == nullptr && slow != nullptr) {
        bad.push_back(fmt::format("{}: {} is used, not {}: {}", place(log, slow->line), slow->name,
                                  options.transport, slow->text));
      } else if (fast == nullptr) {
        missing.push_back(
            fmt::format("{} says nothing of the network; NCCL_DEBUG=INFO does", log.file));
      } else if (!same) {
        bad.push_back(fmt::format("{}: {} is used, not {}: {}", place(log, fast->line), fast->name,
                                  options.transport, fast->text));
      }
      if (fast == nullptr || !same) continue;
    }
    const int efa =
        references.instance != nullptr ? references.instance->network.efa_count.value_or(0) : 0;
    const auto odd = std::find_if(log.transports.begin(), log.transports.end(),
                                  [efa](const Transport& transport) {
                                    return efa > 0 && transport.devices.value_or(efa) != efa;
                                  });
    if (odd != log.transports.end()) {
      bad.push_back(fmt::format("{}: {} network devices were found, {} has {}: {}",
                                place(log, odd->line), odd->devices.value_or(0),
                                references.instance->name, efa, odd->text));
      continue;
    }
    if (sockets_asked && slow != nullptr) {
      good.push_back(fmt::format("sockets, as asked ({})", place(log, slow->line)));
    } else if (sockets_asked && fast != nullptr) {
      bad.push_back(fmt::format("{}: {} is used, not {}: {}", place(log, fast->line), fast->name,
                                options.transport, fast->text));
    } else if (sockets_asked) {
      missing.push_back(fmt::format("{} says nothing of the network", log.file));
    } else if (fast != nullptr) {
      good.push_back(fmt::format("{} ({})", fast->name, place(log, fast->line)));
    } else if (slow == nullptr && failed != nullptr && nodes > 1) {
      missing.push_back(fmt::format("{}: {}, and nothing says what was used instead",
                                    place(log, failed->line), failed->text));
    }
  }
  if (!bad.empty()) {
    verdict.add("transport", Outcome::kFail, fmt::format("{}", fmt::join(bad, "; ")));
  } else if (!missing.empty()) {
    verdict.add("transport", Outcome::kUnknown, fmt::format("{}", fmt::join(missing, "; ")));
  } else if (!good.empty()) {
    verdict.add("transport", Outcome::kPass, fmt::format("{}", fmt::join(good, "; ")));
  }
}

}  // namespace muster::bench
