// muster-bench pairs: an all-to-all that tells the time of each pair. Ranks exchange in rounds of
// disjoint pairs, so that nobody waits for another pair's slow link; the rate of every pair is one
// record of the JSON that `muster bench judge` and `muster bench hunt` read.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/verdict.h"
#include "bench/hunt.h"
#include "engine/bench/command_support.h"
#include "engine/bench/commands.h"
#include "engine/bench/job.h"
#include "engine/bench/mpi_support.h"

namespace muster::measure {
namespace {

using Json = nlohmann::ordered_json;

/// The peer of `rank` in each round; -1: it rests.
std::vector<int> peers_of(int rank, int ranks) {
  std::vector<int> peers;
  for (const bench::Round& round : bench::round_robin(ranks)) {
    int peer = -1;
    for (const bench::Trial& trial : round.trials) {
      if (trial.nodes[0] == rank) peer = trial.nodes[1];
      if (trial.nodes[1] == rank) peer = trial.nodes[0];
    }
    peers.push_back(peer);
  }
  return peers;
}

unsigned char byte_of(int from, int to, std::size_t index) {
  return static_cast<unsigned char>(
      1 +
      (static_cast<std::size_t>(from) * 37 + static_cast<std::size_t>(to) * 17 + index * 5) % 251);
}

class Pairs {
 public:
  Pairs(const Sweep& sweep, Job& job)
      : sweep_(sweep), job_(job), rank_(job.fabric().rank()), ranks_(job.fabric().size()) {}

  /// Of one size: microseconds of one exchange with each rank and bytes that were wrong, both in
  /// order of rank; 0 for this one.
  void measure(std::size_t bytes, std::vector<double>& times, std::vector<double>& wrong) {
    send_.resize(bytes);
    recv_.resize(bytes);
    times.assign(static_cast<std::size_t>(ranks_), 0);
    wrong.assign(static_cast<std::size_t>(ranks_), 0);
    for (const int peer : peers_of(rank_, ranks_)) {
      if (peer >= 0) {
        for (std::size_t i = 0; i < bytes; ++i) send_[i] = byte_of(rank_, peer, i);
        std::fill(recv_.begin(), recv_.end(), 0);
      }
      job_.fabric().barrier();
      if (peer >= 0) times[static_cast<std::size_t>(peer)] = exchange(peer);
      job_.fabric().barrier();
      if (peer >= 0 && sweep_.checks > 0) {
        std::size_t bad = 0;
        for (std::size_t i = 0; i < bytes; ++i) bad += recv_[i] != byte_of(peer, rank_, i) ? 1 : 0;
        wrong[static_cast<std::size_t>(peer)] = static_cast<double>(bad);
      }
    }
  }

 private:
  /// The median: one exchange that something else held up does not make a link slow.
  double exchange(int peer) {
    for (int i = 0; i < sweep_.warmup; ++i) once(peer);
    std::vector<double> times;
    for (int i = 0; i < sweep_.iterations; ++i) {
      const auto start = std::chrono::steady_clock::now();
      once(peer);
      times.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
              .count());
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  void once(int peer) {
    job_.monitor().begin();
    const auto count = static_cast<int>(send_.size());
    check_mpi(MPI_Sendrecv(send_.data(), count, MPI_BYTE, peer, 1, recv_.data(), count, MPI_BYTE,
                           peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
  }

  const Sweep& sweep_;
  Job& job_;
  int rank_, ranks_;
  std::vector<unsigned char> send_, recv_;
};

/// All ranks' values, in order of rank; on rank 0.
std::vector<double> gathered(const std::vector<double>& own, const Fabric& fabric) {
  std::vector<double> all(fabric.rank() == 0 ? own.size() * own.size() : 0);
  const auto count = static_cast<int>(own.size());
  check_mpi(
      MPI_Gather(own.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD),
      "MPI_Gather");
  return all;
}

std::string name_of(const Seat& seat, bool by_host) {
  return by_host ? seat.host : fmt::format("rank {}", seat.rank);
}

/// Whether every rank has a host of its own: then pairs are of hosts.
bool are_hosts(const std::vector<Seat>& seats) {
  std::vector<std::string> hosts;
  hosts.reserve(seats.size());
  for (const Seat& seat : seats) hosts.push_back(seat.host);
  std::sort(hosts.begin(), hosts.end());
  return std::adjacent_find(hosts.begin(), hosts.end()) == hosts.end();
}

int run_pairs(const Settings& settings) {
  Result<Sweep> sweep = make_sweep(Operation::kSendRecv, settings, 1);
  if (!sweep) return refuse(sweep.findings());
  if (sweep->max_bytes > INT_MAX)
    return refuse(
        {error_at({}, "bench-option", "-e: a message of a pair has at most 2 GiB", "-e 1G")});
  Job job(sweep->time_limit);
  Fabric& fabric = job.fabric();
  if (!fit_to_memory(*sweep, fabric, 3)) return kExitUnverified;
  const std::vector<Seat>& seats = fabric.seats();
  const bool by_host = are_hosts(seats);
  const auto ranks = static_cast<std::size_t>(fabric.size());
  Json records = Json::array();
  std::size_t wrong_bytes = 0;
  Pairs pairs(*sweep, job);
  for (const std::size_t bytes : sweep->sizes) {
    job.monitor().doing(fmt::format("pairs of {} bytes", bytes));
    std::vector<double> times, wrong;
    pairs.measure(bytes, times, wrong);
    const auto all_times = gathered(times, fabric), all_wrong = gathered(wrong, fabric);
    if (!job.first()) continue;
    for (std::size_t a = 0; a < ranks; ++a) {
      for (std::size_t b = a + 1; b < ranks; ++b) {
        // The exchange has ended when both have.
        const double time = std::max(all_times[a * ranks + b], all_times[b * ranks + a]);
        const double bad = all_wrong[a * ranks + b] + all_wrong[b * ranks + a];
        wrong_bytes += static_cast<std::size_t>(bad);
        const double rate =
            time > 0 ? std::round(static_cast<double>(bytes) / time * 1e3) / 1e6 : 0;
        records.push_back({{"tool", "muster-bench"},
                           {"version", MUSTER_VERSION},
                           {"operation", "sendrecv"},
                           {"type", "uint8"},
                           {"variant", fmt::format("{} <-> {}", name_of(seats[a], by_host),
                                                   name_of(seats[b], by_host))},
                           {"ranks", ranks},
                           {"size", bytes},
                           {"time_us", std::round(time * 100) / 100},
                           {"algbw", rate},
                           {"busbw", rate},
                           {"wrong", sweep->checks > 0 ? Json(bad) : Json(nullptr)}});
      }
    }
  }
  if (job.first()) std::cout << Json({{"records", records}}).dump(1) << '\n' << std::flush;
  // Every rank ends as rank 0 does, which alone has the sum.
  std::vector<double> total = {static_cast<double>(wrong_bytes)};
  fabric.sum(total);
  job.finish();
  return conclude(*sweep, ranks > 1 && sweep->checks > 0, static_cast<std::size_t>(total[0]),
                  job.first());
}

}  // namespace

void add_pairs(CLI::App& app, int& exit_code) {
  const auto settings = std::make_shared<Settings>();
  settings->min_bytes = settings->max_bytes = "4M";
  settings->iterations = 5;
  CLI::App* sub = app.add_subcommand(
      "pairs", "Measure every pair of ranks, in rounds of disjoint pairs; prints JSON");
  add_options(*sub, *settings);
  sub->callback([settings, &exit_code] { exit_code = run_pairs(*settings); });
}

}  // namespace muster::measure
