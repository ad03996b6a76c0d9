// A breakdown from the statistics of Nsight Systems: sums only, so what lies under what is not
// told.
#include <algorithm>

#include <fmt/format.h>

#include "runs/breakdown.h"
#include "runs/statistics.h"

namespace muster::runs {
namespace {

constexpr double kGigabyte = 1e9;

double part(double of, double whole) {
  return whole > 0 ? of / whole : 0;
}

/// What one rank's tables add up to.
struct RankSums {
  double kernels = 0, communication = 0, core = 0;  ///< seconds on the GPU
  double memory = 0;
  double calls = 0, synchronising = 0;  ///< seconds in the API
  double copied = 0;                    ///< bytes between host and device
  bool has_kernels = false, has_calls = false, has_memory = false;
};

bool is_between_host_and_device(const std::string& operation) {
  for (const char* way : {"HtoD", "DtoH", "Host-to-Device", "Device-to-Host"}) {
    if (operation.find(way) != std::string::npos) return true;
  }
  return false;
}

class FromStats {
 public:
  FromStats(const std::vector<RankStats>& stats, const facts::Nsight& rules)
      : stats_(stats), rules_(rules) {}

  Breakdown make() {
    out_.source = "nsys";
    int unnamed = 0;
    for (const RankStats& one : stats_) {
      for (const std::string& note : one.notes) out_.gaps.push_back(one.file + ": " + note);
      if (one.torn > 0)
        out_.gaps.push_back(fmt::format("{}: {} row{} could not be read", one.file, one.torn,
                                        one.torn == 1 ? "" : "s"));
      if (one.tables.empty()) continue;
      // Files that say no rank are taken for ranks of their own.
      const int rank = one.rank.value_or(-1 - unnamed);
      if (!one.rank) ++unnamed;
      take(rank, one);
    }
    name_the_unnamed();
    for (RankBreakdown& rank : out_.ranks) finish(rank);
    judge();
    return std::move(out_);
  }

 private:
  RankBreakdown& of(int rank) {
    const auto found = std::find_if(out_.ranks.begin(), out_.ranks.end(),
                                    [rank](const RankBreakdown& one) { return one.rank == rank; });
    if (found != out_.ranks.end()) return *found;
    out_.ranks.emplace_back();
    out_.ranks.back().rank = rank;
    return out_.ranks.back();
  }

  void take(int number, const RankStats& stats) {
    RankBreakdown& rank = of(number);
    if (rank.host.empty()) rank.host = stats.host;
    if (rank.file.empty()) rank.file = stats.file;
    RankSums& sums = sums_[number];
    for (const StatTable& table : stats.tables) {
      if (table.what == "kernels") {
        sums.has_kernels = true;
        for (const StatRow& row : table.rows) take_kernel(rank, sums, row);
        find_jitter(rank, table);
      } else if (table.what == "calls") {
        sums.has_calls = true;
        for (const StatRow& row : table.rows) {
          sums.calls += row.total;
          Regex::Match match;
          if (rules_.synchronises->search(row.name, 0, match) == Regex::Found::kYes)
            sums.synchronising += row.total;
        }
      } else if (table.what == "memory-time") {
        sums.has_memory = true;
        for (const StatRow& row : table.rows) sums.memory += row.total;
      } else if (table.what == "memory-size") {
        for (const StatRow& row : table.rows) {
          if (is_between_host_and_device(row.name)) sums.copied += row.total;
        }
      }
    }
  }

  void take_kernel(RankBreakdown& rank, RankSums& sums, const StatRow& row) const {
    const facts::KernelCategory* category = rules_.category(row.name);
    rank.categories[category != nullptr ? category->name : "other"] += row.total;
    sums.kernels += row.total;
    if (category == nullptr) return;
    if (category->group == "communication") sums.communication += row.total;
    if (category->group == "core") sums.core += row.total;
  }

  /// Kernels that take now long, now short: others of the job come late.
  void find_jitter(const RankBreakdown& rank, const StatTable& table) {
    std::vector<const StatRow*> rows;
    for (const StatRow& row : table.rows) rows.push_back(&row);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const StatRow* a, const StatRow* b) { return a->total > b->total; });
    rows.resize(std::min(rows.size(), static_cast<std::size_t>(rules_.limit("jitter-top"))));
    for (const StatRow* row : rows) {
      if (!row->mean || !row->deviation || *row->mean <= 0 ||
          row->count.value_or(0) <= rules_.limit("jitter-instances") ||
          *row->deviation <= rules_.limit("jitter") * *row->mean)
        continue;
      out_.remarks.push_back(
          {"profile-jitter",
           fmt::format("rank {}: {} varies by {:.2f} of its mean over {:.0f} instances", rank.rank,
                       row->name.substr(0, 80), *row->deviation / *row->mean, *row->count),
           "a rank that comes late, or parts of unlike size"});
    }
  }

  void name_the_unnamed() {
    int free = 0;
    for (RankBreakdown& rank : out_.ranks) {
      if (rank.rank >= 0) continue;
      const int was = rank.rank;
      while (std::any_of(out_.ranks.begin(), out_.ranks.end(),
                         [free](const RankBreakdown& one) { return one.rank == free; }))
        ++free;
      rank.rank = free;
      sums_[free] = sums_[was];
      sums_.erase(was);
      out_.gaps.push_back(fmt::format("{}: it does not say of which rank it is, and is shown as {}",
                                      rank.file, free));
    }
    std::sort(out_.ranks.begin(), out_.ranks.end(),
              [](const RankBreakdown& a, const RankBreakdown& b) { return a.rank < b.rank; });
  }

  void finish(RankBreakdown& rank) const {
    const RankSums& sums = sums_.at(rank.rank);
    rank.shares.wall = sums.kernels + sums.memory;
    rank.shares.own = sums.kernels - sums.communication;
    rank.shares.communication = sums.communication;
    if (sums.has_memory) rank.shares.memory = sums.memory;
    rank.bound = bound_of(sums);
  }

  double share_of(const RankSums& sums, const std::string& share) const {
    if (share == "communication") return part(sums.communication, sums.kernels);
    if (share == "synchronisation") return part(sums.synchronising, sums.calls);
    if (share == "core") return part(sums.core, sums.kernels);
    return part(sums.memory, sums.kernels + sums.memory);
  }

  std::string bound_of(const RankSums& sums) const {
    if (!sums.has_kernels || sums.kernels <= 0) return "unknown";
    for (const facts::BoundRule& rule : rules_.nsys_bounds) {
      if (share_of(sums, rule.share) > rule.above) return rule.bound;
    }
    return "mixed";
  }

  void judge() {
    RankSums all;
    for (const auto& [rank, sums] : sums_) {
      all.kernels += sums.kernels;
      all.communication += sums.communication;
      all.core += sums.core;
      all.memory += sums.memory;
      all.calls += sums.calls;
      all.synchronising += sums.synchronising;
      all.copied += sums.copied;
      all.has_kernels |= sums.has_kernels;
      all.has_calls |= sums.has_calls;
    }
    if (out_.ranks.empty()) {
      out_.source.clear();
      return;
    }
    out_.bound = bound_of(all);
    if (!all.has_kernels) {
      out_.gaps.emplace_back("no summary of kernels: what it is bound by can't be told");
    } else {
      out_.evidence = fmt::format(
          "of the kernels' time {:.0f} % is NCCL's and {:.0f} % matrix products, attention, "
          "softmax and Triton; copies take {:.0f} % of the GPU's time",
          100 * share_of(all, "communication"), 100 * share_of(all, "core"),
          100 * share_of(all, "memory"));
      if (all.has_calls)
        out_.evidence += fmt::format("; {:.0f} % of the API's time goes into waiting for the GPU",
                                     100 * share_of(all, "synchronisation"));
    }
    if (share_of(all, "communication") > rules_.limit("communication"))
      out_.remarks.push_back(
          {"profile-communication",
           fmt::format("NCCL takes {:.0f} % of the kernels' time",
                       100 * share_of(all, "communication")),
           "overlap, larger buckets, fewer ranks a group, the fabric (muster bench)"});
    if (all.copied > rules_.limit("copied-gigabytes") * kGigabyte)
      out_.remarks.push_back(
          {"profile-copies",
           fmt::format("{:.1f} GB go between host and device", all.copied / kGigabyte),
           "pinned memory, data that stays on the device, fewer .item() and .cpu()"});
    if (all.has_calls && share_of(all, "synchronisation") > rules_.limit("synchronisation"))
      out_.remarks.push_back(
          {"profile-synchronisation",
           fmt::format("{:.0f} % of the API's time goes into calls that wait for the GPU",
                       100 * share_of(all, "synchronisation")),
           "fewer synchronisations in a step; on a busy GPU it is only where the program waits"});
    find_straggler();
  }

  /// Others wait in NCCL's kernels for a rank that computes longer.
  void find_straggler() {
    if (out_.ranks.size() < 2) return;
    for (const RankBreakdown& rank : out_.ranks) {
      std::vector<double> own, communication;
      for (const RankBreakdown& other : out_.ranks) {
        if (other.rank == rank.rank) continue;
        own.push_back(other.shares.own);
        communication.push_back(other.shares.communication);
      }
      const double usual = median(std::move(own)).value_or(0);
      const double waits = median(std::move(communication)).value_or(0);
      if (usual <= 0 || rank.shares.own <= rules_.limit("straggler-ratio") * usual ||
          rank.shares.communication >= waits)
        continue;
      out_.straggler = rank.rank;
      out_.bound = "straggler";
      out_.remarks.push_back(
          {"profile-straggler",
           fmt::format("rank {}{} computes {:.2f} times as long as the others ({:.3f} s to {:.3f} "
                       "s), which are in NCCL's kernels meanwhile ({:.3f} s to its {:.3f} s)",
                       rank.rank, rank.host.empty() ? "" : " on " + rank.host,
                       rank.shares.own / usual, rank.shares.own, usual, waits,
                       rank.shares.communication),
           "its host: clocks, throttling, other work there, its part of the data"});
      return;
    }
  }

  const std::vector<RankStats>& stats_;
  const facts::Nsight& rules_;
  std::map<int, RankSums> sums_;
  Breakdown out_;
};

}  // namespace

Breakdown break_down(const std::vector<RankStats>& stats, const facts::Nsight& rules) {
  return FromStats(stats, rules).make();
}

}  // namespace muster::runs
