#include "engine/bench/expert_runner.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "engine/bench/expert_exchange.h"
#include "engine/bench/mpi_support.h"

namespace muster::measure {
namespace {

std::size_t size(int value) {
  return static_cast<std::size_t>(value);
}

double now() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What a bare MPI_Alltoallv needs to move as many bytes between the same ranks: rows that lie
/// packed already, counts that everyone knows.
class BareExchange {
 public:
  BareExchange(const std::vector<int>& to, const std::vector<int>& from, std::size_t row_bytes)
      : type_(row_bytes), to_(to), from_(from) {
    std::size_t sent = 0, received = 0;
    for (std::size_t rank = 0; rank < to.size(); ++rank) {
      to_at_.push_back(static_cast<int>(sent));
      from_at_.push_back(static_cast<int>(received));
      sent += size(to[rank]);
      received += size(from[rank]);
    }
    send_.assign(std::max<std::size_t>(1, sent * row_bytes), 1);
    receive_.assign(std::max<std::size_t>(1, received * row_bytes), 0);
  }
  void run() {
    check_mpi(MPI_Alltoallv(send_.data(), to_.data(), to_at_.data(), type_.get(), receive_.data(),
                            from_.data(), from_at_.data(), type_.get(), MPI_COMM_WORLD),
              "MPI_Alltoallv");
  }

 private:
  RowType type_;
  std::vector<int> to_, from_, to_at_, from_at_;
  std::vector<char> send_, receive_;
};

class ExpertMeasurement {
 public:
  ExpertMeasurement(const ExpertPlan& plan, const Placement& placement, Fabric& fabric,
                    Monitor& monitor)
      : plan_(plan),
        shape_(plan.shape),
        placement_(placement),
        fabric_(fabric),
        monitor_(monitor),
        rank_(fabric.rank()),
        exchange_(plan.low_latency ? make_low_latency_exchange(plan, placement, rank_)
                                   : make_normal_exchange(plan, placement, rank_)) {}

  std::vector<ExpertRow> measure() {
    load(plan_.seed);
    begin(&ExpertExchange::dispatch);
    apply();
    std::vector<ExpertRow> rows;
    std::optional<std::size_t> wrong_dispatch, wrong_combine;
    const auto dispatched = timed(plan_.dispatch, &ExpertExchange::dispatch, dispatch_row_bytes());
    const auto combined = timed(plan_.combine, &ExpertExchange::combine, combine_row_bytes());
    std::vector<Account> dispatch_accounts, combine_accounts;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      dispatch_accounts.push_back(
          account_dispatch(shape_, all_, placement_, rank, plan_.low_latency));
      combine_accounts.push_back(
          account_combine(shape_, all_, placement_, rank, plan_.low_latency));
    }
    const auto bare_dispatch = bare_bytes(dispatch_row_bytes());
    const auto bare_combine = bare_bytes(combine_row_bytes());
    check(wrong_dispatch, wrong_combine);
    const char* type = shape_.payload == bench::Payload::kFp8 ? "f8e4m3" : "bfloat16";
    if (plan_.dispatch) {
      add_rows(rows, "dispatch", type, dispatch_accounts, dispatched.own, wrong_dispatch);
      add_bare(rows, "raw:dispatch", bare_dispatch, dispatched.bare);
    }
    if (plan_.combine) {
      add_rows(rows, "combine", "bfloat16", combine_accounts, combined.own, wrong_combine);
      add_bare(rows, "raw:combine", bare_combine, combined.bare);
    }
    return rows;
  }

 private:
  using Step = void (ExpertExchange::*)();
  /// Medians of each rank.
  struct Times {
    std::vector<double> own, bare;
  };

  void begin(Step step) {
    monitor_.begin();
    (exchange_.get()->*step)();
  }

  std::size_t dispatch_row_bytes() const {
    return plan_.low_latency ? low_latency_row(shape_).bytes() : normal_row(shape_).bytes();
  }
  std::size_t combine_row_bytes() const { return size(shape_.hidden) * sizeof(std::uint16_t); }

  void load(unsigned seed) {
    const Monitor::Apart apart(monitor_);
    all_.clear();
    for (int rank = 0; rank < shape_.ranks; ++rank) all_.push_back(route(shape_, rank, seed));
    exchange_->load(all_[size(rank_)], seed);
  }

  void apply() {
    const Monitor::Apart apart(monitor_);
    exchange_->apply();
  }

  Times timed(bool wanted, Step step, std::size_t row_bytes) {
    Times times;
    if (!wanted) return times;
    std::unique_ptr<BareExchange> bare;
    if (plan_.against_alltoallv) {
      const Monitor::Apart apart(monitor_);
      const bool back = step == &ExpertExchange::combine;
      bare = std::make_unique<BareExchange>(back ? rows_from() : rows_to(),
                                            back ? rows_to() : rows_from(), row_bytes);
    }
    std::vector<double> own, other;
    for (int i = -plan_.warmup; i < plan_.iterations; ++i) {
      fabric_.barrier();
      const double start = now();
      begin(step);
      const double middle = now();
      if (i >= 0) own.push_back(middle - start);
      if (bare == nullptr) continue;
      fabric_.barrier();
      monitor_.begin();
      const double again = now();
      bare->run();
      if (i >= 0) other.push_back(now() - again);
    }
    times.own = share(median(own));
    if (bare != nullptr) times.bare = share(median(other));
    return times;
  }

  /// Every rank's value, on every rank.
  std::vector<double> share(double value) {
    std::vector<double> all(size(shape_.ranks), 0);
    all[size(rank_)] = value;
    fabric_.sum(all);
    return all;
  }

  /// Rows (of low-latency slots) between this rank and each other.
  std::vector<int> rows_to() const {
    std::vector<int> rows;
    rows.reserve(size(shape_.ranks));
    for (int to = 0; to < shape_.ranks; ++to) rows.push_back(rows_between(rank_, to));
    return rows;
  }
  std::vector<int> rows_from() const {
    std::vector<int> rows;
    rows.reserve(size(shape_.ranks));
    for (int from = 0; from < shape_.ranks; ++from) rows.push_back(rows_between(from, rank_));
    return rows;
  }
  int rows_between(int from, int to) const {
    const Routing& routing = all_[size(from)];
    const int first = to * shape_.experts_per_rank(), last = first + shape_.experts_per_rank();
    int rows = 0;
    for (int token = 0; token < routing.tokens(); ++token) {
      const int* experts = routing.experts_of(token);
      if (plan_.low_latency) {
        rows += static_cast<int>(std::count_if(experts, experts + routing.top_k, [&](int expert) {
          return expert >= first && expert < last;
        }));
      } else {
        rows += touches(experts, routing.top_k, first, last) ? 1 : 0;
      }
    }
    return rows;
  }
  /// The mean over ranks of what each receives.
  Account bare_bytes(std::size_t row_bytes) {
    double rows = 0;
    for (const int from : rows_from()) rows += from;
    std::vector<double> sum = {rows};
    fabric_.sum(sum);
    Account account;
    account.rows = sum[0] / shape_.ranks;
    account.local = account.rows * static_cast<double>(row_bytes);
    return account;
  }

  void check(std::optional<std::size_t>& wrong_dispatch,
             std::optional<std::size_t>& wrong_combine) {
    std::vector<double> wrong = {0, 0};
    for (int i = 0; i < plan_.checks; ++i) {
      const unsigned seed = plan_.seed + static_cast<unsigned>(i) + 1;
      load(seed);
      fabric_.barrier();
      begin(&ExpertExchange::dispatch);
      {
        const Monitor::Apart apart(monitor_);
        wrong[0] += static_cast<double>(wrong_rows(seed));
        exchange_->apply();
      }
      fabric_.barrier();
      begin(&ExpertExchange::combine);
      const Monitor::Apart apart(monitor_);
      wrong[1] += static_cast<double>(wrong_tokens(seed));
    }
    fabric_.sum(wrong);
    if (plan_.checks == 0) return;
    if (plan_.dispatch) wrong_dispatch = static_cast<std::size_t>(wrong[0]);
    if (plan_.combine) wrong_combine = static_cast<std::size_t>(wrong[1]);
  }

  /// A row that is missing, or one too many, is wrong in all of its values.
  std::size_t wrong_rows(unsigned seed) {
    const std::vector<Due> due =
        plan_.low_latency ? due_slots(shape_, all_, rank_) : due_rows(shape_, all_, rank_);
    const std::size_t came = exchange_->received(), both = std::min(due.size(), came);
    std::size_t wrong = (std::max(due.size(), came) - both) * size(shape_.hidden);
    for (std::size_t i = 0; i < both; ++i)
      wrong += wrong_in_row(shape_, all_, seed, due[i], exchange_->row(i), scratch_);
    return wrong;
  }

  std::size_t wrong_tokens(unsigned seed) {
    std::size_t wrong = 0;
    for (int token = 0; token < shape_.tokens; ++token)
      wrong += wrong_in_token(shape_, all_[size(rank_)], seed, rank_, token,
                              exchange_->combined(token), scratch_);
    return wrong;
  }

  void add_rows(std::vector<ExpertRow>& rows, const char* operation, const char* type,
                const std::vector<Account>& accounts, const std::vector<double>& times,
                const std::optional<std::size_t>& wrong) const {
    const auto add = [&](const char* variant, double Account::*bytes) {
      ExpertRow row = summary(operation, type, variant, times);
      for (const Account& account : accounts) {
        row.bytes += account.*bytes / shape_.ranks;
        row.rows += account.rows / shape_.ranks;
      }
      row.wrong = wrong;
      rows.push_back(std::move(row));
    };
    if (plan_.low_latency) {
      add("slots", &Account::slots);
    } else {
      add("local", &Account::local);
      if (shape_.nodes > 1) add("across", &Account::across);
    }
    if (!plan_.per_rank) return;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      const Account& account = accounts[size(rank)];
      const double time = times[size(rank)];
      rows.push_back({operation, type, fmt::format("rank {}", rank),
                      plan_.low_latency ? account.slots : account.local, account.rows, time, time,
                      time, rank, wrong});
    }
  }

  void add_bare(std::vector<ExpertRow>& rows, const char* variant, const Account& account,
                const std::vector<double>& times) const {
    if (times.empty()) return;
    ExpertRow row = summary("alltoallv", "uint8", variant, times);
    row.bytes = account.local;
    row.rows = account.rows;
    rows.push_back(std::move(row));
  }

  ExpertRow summary(const char* operation, const char* type, const char* variant,
                    const std::vector<double>& times) const {
    ExpertRow row;
    row.operation = operation;
    row.type = type;
    row.variant = variant;
    for (const double time : times) row.time += time / shape_.ranks;
    row.fastest = *std::min_element(times.begin(), times.end());
    const auto slowest = std::max_element(times.begin(), times.end());
    row.slowest = *slowest;
    row.slowest_rank = static_cast<int>(slowest - times.begin());
    return row;
  }

  const ExpertPlan& plan_;
  const ExpertShape& shape_;
  const Placement& placement_;
  Fabric& fabric_;
  Monitor& monitor_;
  int rank_;
  std::unique_ptr<ExpertExchange> exchange_;
  std::vector<Routing> all_;
  std::vector<std::byte> scratch_;
};

}  // namespace

double expert_memory(const ExpertPlan& plan, int nodes) {
  const ExpertShape& shape = plan.shape;
  const double tokens = shape.tokens, ranks = shape.ranks, hidden = shape.hidden;
  const double sum = 2 * hidden;
  // A token takes at most one row of a rank; of a low-latency rank one for each expert it has.
  if (plan.low_latency) {
    const double slots = tokens * ranks * std::min(shape.top_k, shape.experts_per_rank());
    const double row = static_cast<double>(low_latency_row(shape).bytes());
    return 2 * slots * row + slots * sum + 2 * tokens * shape.top_k * (row + sum) +
           (plan.against_alltoallv ? 2 * slots * row : 0);
  }
  const double row = static_cast<double>(normal_row(shape).bytes());
  return tokens * ranks * (row + sum) + tokens * (row + sum) +
         2 * tokens * (nodes - 1) * (row + sum) +
         (plan.against_alltoallv ? 2 * tokens * ranks * row : 0);
}

std::vector<ExpertRow> measure_experts(const ExpertPlan& plan, const Placement& placement,
                                       Fabric& fabric, Monitor& monitor) {
  monitor.doing(fmt::format("expert parallelism of {} tokens, {} channels", plan.shape.tokens,
                            plan.shape.hidden));
  return ExpertMeasurement(plan, placement, fabric, monitor).measure();
}

}  // namespace muster::measure
