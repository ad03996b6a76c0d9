#include "engine/bench/one_sided.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "engine/bench/mpi_support.h"

namespace muster::measure {
namespace {

double now() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Memory that the other ranks reach; open to all of them as long as it lives.
class Window {
 public:
  explicit Window(std::size_t bytes) : size_(bytes) {
    check_mpi(MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                               &data_, &window_),
              "MPI_Win_allocate");
    std::memset(data_, 0, bytes);
    // Another rank's first put may not come before that.
    check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  }
  ~Window() {
    if (std::uncaught_exceptions() > 0) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  char* data() const { return static_cast<char*>(data_); }
  std::size_t size() const { return size_; }
  MPI_Win handle() const { return window_; }
  /// What others put becomes visible here, what is here to them.
  void sync() const { MPI_Win_sync(window_); }
  void flush(int rank) const { check_mpi(MPI_Win_flush(rank, window_), "MPI_Win_flush"); }

 private:
  std::size_t size_;
  void* data_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

unsigned char byte_of(int rank, std::size_t index, unsigned seed) {
  const std::size_t mixed =
      static_cast<std::size_t>(rank) * 37 + index * 5 + std::size_t{seed} * 131;
  return static_cast<unsigned char>(1 + mixed % 251);
}

class Measurement {
 public:
  Measurement(OneSided operation, const Sweep& sweep, const OneSidedOptions& options,
              Fabric& fabric, Monitor& monitor, std::size_t bytes)
      : operation_(operation),
        sweep_(sweep),
        options_(options),
        fabric_(fabric),
        monitor_(monitor),
        bytes_(bytes),
        rank_(fabric.rank()),
        half_(fabric.size() / 2),
        peer_(rank_ < half_ ? rank_ + half_ : rank_ - half_),
        starts_(rank_ < half_ || options.both_ways),
        window_(std::max<std::size_t>(64, operation == OneSided::kAllToAll
                                              ? bytes * static_cast<std::size_t>(fabric.size())
                                              : bytes)),
        local_(window_.size()),
        found_(static_cast<std::size_t>(options.window)) {}

  OneSidedRow measure() {
    OneSidedRow row;
    row.bytes = bytes_;
    const double each = timed(1);
    double together = 0;
    if (operation_ != OneSided::kPingPong && operation_ != OneSided::kAllToAll)
      together = timed(options_.window);
    // Of pairs: the ranks that begin operations.
    std::vector<double> sums = {starts_ ? each : 0, starts_ ? together : 0, starts_ ? 1.0 : 0};
    std::vector<double> slowest = {starts_ ? std::max(together, each) : 0, starts_ ? together : 0};
    fabric_.sum(sums);
    fabric_.max(slowest);
    row.latency = sums[0] / sums[2];
    const double rate_time = together > 0 ? sums[1] / sums[2] : row.latency;
    const double ways = options_.both_ways ? 2 : 1;
    const double moved = operation_ == OneSided::kAllToAll
                             ? static_cast<double>(bytes_) * (fabric_.size() - 1)
                             : static_cast<double>(bytes_) * ways;
    row.bandwidth = moved / rate_time / 1e3;
    row.slowest_bandwidth = moved / (slowest[1] > 0 ? slowest[1] : slowest[0]) / 1e3;
    row.million_per_second = ways / rate_time;
    if (sweep_.checks > 0) row.wrong = wrong();
    return row;
  }

 private:
  /// Microseconds of one operation, `together` of them begun before they are waited for.
  double timed(int together) {
    for (int i = 0; i < sweep_.warmup; ++i) once(together);
    fabric_.barrier();
    const double start = now();
    for (int i = 0; i < sweep_.iterations; ++i) once(together);
    const double each = (now() - start) / (static_cast<double>(sweep_.iterations) * together);
    fabric_.barrier();
    return each;
  }

  void once(int together) {
    monitor_.begin();
    switch (operation_) {
      case OneSided::kPut:
      case OneSided::kGet:
      case OneSided::kAtomic:
        if (!starts_) return;
        for (int i = 0; i < together; ++i) begin_one(i);
        window_.flush(peer_);
        return;
      case OneSided::kPingPong:
        ping_pong();
        return;
      case OneSided::kAllToAll:
        all_to_all();
        return;
    }
  }

  void begin_one(int slot) {
    const auto count = static_cast<int>(bytes_);
    if (operation_ == OneSided::kPut) {
      check_mpi(
          MPI_Put(local_.data(), count, MPI_BYTE, peer_, 0, count, MPI_BYTE, window_.handle()),
          "MPI_Put");
    } else if (operation_ == OneSided::kGet) {
      check_mpi(
          MPI_Get(local_.data(), count, MPI_BYTE, peer_, 0, count, MPI_BYTE, window_.handle()),
          "MPI_Get");
    } else {
      begin_atomic(slot);
    }
  }

  /// Each operation under way has a word of its own for what it finds.
  void begin_atomic(int slot) {
    static const std::int64_t kOne = 1, kExpected = 0;
    std::int64_t* result = &found_[static_cast<std::size_t>(slot)];
    switch (options_.atomic) {
      case Atomic::kInc:
      case Atomic::kFetchAdd:
        check_mpi(MPI_Fetch_and_op(&kOne, result, MPI_INT64_T, peer_, 0, MPI_SUM, window_.handle()),
                  "MPI_Fetch_and_op");
        break;
      case Atomic::kSwap:
        check_mpi(
            MPI_Fetch_and_op(&kOne, result, MPI_INT64_T, peer_, 0, MPI_REPLACE, window_.handle()),
            "MPI_Fetch_and_op");
        break;
      case Atomic::kCompareSwap:
        check_mpi(MPI_Compare_and_swap(&kOne, &kExpected, result, MPI_INT64_T, peer_, 0,
                                       window_.handle()),
                  "MPI_Compare_and_swap");
        break;
    }
  }

  /// A put and the answer to it: the last byte of the data says which turn it is. Half of it counts
  /// as one operation.
  void ping_pong() {
    turn_ = static_cast<unsigned char>(turn_ % 250 + 1);
    if (rank_ < half_) put_turn();
    auto* last = reinterpret_cast<volatile unsigned char*>(window_.data() + bytes_ - 1);
    while (*last != turn_) {
      window_.sync();
      int there = 0;
      // Lets MPI go on where its puts need the target's help.
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
    if (rank_ >= half_) put_turn();
  }

  void put_turn() {
    local_[bytes_ - 1] = static_cast<char>(turn_);
    const auto count = static_cast<int>(bytes_);
    check_mpi(MPI_Put(local_.data(), count, MPI_BYTE, peer_, 0, count, MPI_BYTE, window_.handle()),
              "MPI_Put");
    window_.flush(peer_);
  }

  void all_to_all() {
    const auto count = static_cast<int>(bytes_);
    const auto place = static_cast<MPI_Aint>(bytes_) * rank_;
    for (int step = 0; step < fabric_.size(); ++step) {
      const int to = (rank_ + step) % fabric_.size();
      check_mpi(MPI_Put(local_.data() + bytes_ * static_cast<std::size_t>(to), count, MPI_BYTE, to,
                        place, count, MPI_BYTE, window_.handle()),
                "MPI_Put");
    }
    check_mpi(MPI_Win_flush_all(window_.handle()), "MPI_Win_flush_all");
    fabric_.barrier();
  }

  std::size_t wrong() {
    std::vector<double> count = {0};
    for (int i = 0; i < sweep_.checks; ++i)
      count[0] += static_cast<double>(checked(static_cast<unsigned>(i) + 1));
    fabric_.sum(count);
    return static_cast<std::size_t>(count[0]);
  }

  /// One operation whose every byte, or whose word, is looked at.
  std::size_t checked(unsigned seed) {
    std::memset(window_.data(), 0, window_.size());
    std::fill(local_.begin(), local_.end(), 0);
    const bool reads = operation_ == OneSided::kGet;
    for (std::size_t i = 0; i < local_.size(); ++i)
      (reads ? window_.data()[i] : local_[i]) = static_cast<char>(byte_of(rank_, i, seed));
    if (operation_ == OneSided::kAtomic) std::memset(window_.data(), 0, window_.size());
    window_.sync();
    fabric_.barrier();
    turn_ = static_cast<unsigned char>(seed % 250);
    once(1);
    fabric_.barrier();
    window_.sync();
    std::size_t bad = 0;
    if (operation_ == OneSided::kAtomic) {
      std::int64_t word = 0;
      std::memcpy(&word, window_.data(), sizeof word);
      const bool target = rank_ >= half_ || options_.both_ways;
      return word == (target ? 1 : 0) ? 0 : 1;
    }
    const bool receives = operation_ == OneSided::kGet ? starts_
                                                       : rank_ >= half_ || options_.both_ways ||
                                                             operation_ == OneSided::kPingPong;
    if (operation_ == OneSided::kAllToAll) {
      for (int from = 0; from < fabric_.size(); ++from) {
        for (std::size_t i = 0; i < bytes_; ++i) {
          const std::size_t sent = bytes_ * static_cast<std::size_t>(rank_) + i;
          const std::size_t at = bytes_ * static_cast<std::size_t>(from) + i;
          if (static_cast<unsigned char>(window_.data()[at]) != byte_of(from, sent, seed)) ++bad;
        }
      }
    } else if (receives) {
      const char* data = reads ? local_.data() : window_.data();
      // The last byte of a ping-pong is its turn.
      const std::size_t end = operation_ == OneSided::kPingPong ? bytes_ - 1 : bytes_;
      for (std::size_t i = 0; i < end; ++i) {
        if (static_cast<unsigned char>(data[i]) != byte_of(peer_, i, seed)) ++bad;
      }
    }
    return bad;
  }

  OneSided operation_;
  const Sweep& sweep_;
  const OneSidedOptions& options_;
  Fabric& fabric_;
  Monitor& monitor_;
  std::size_t bytes_;
  int rank_, half_, peer_;
  bool starts_;
  Window window_;
  std::vector<char> local_;
  std::vector<std::int64_t> found_;
  unsigned char turn_ = 0;
};

}  // namespace

const char* to_string(OneSided operation) {
  constexpr const char* kNames[] = {"put", "get", "atomic", "pingpong", "alltoall"};
  return kNames[static_cast<int>(operation)];
}

const char* to_string(Atomic atomic) {
  constexpr const char* kNames[] = {"inc", "fetch_add", "swap", "compare_swap"};
  return kNames[static_cast<int>(atomic)];
}

std::optional<Atomic> atomic(const std::string& name) {
  for (const Atomic one : {Atomic::kInc, Atomic::kFetchAdd, Atomic::kSwap, Atomic::kCompareSwap}) {
    if (name == to_string(one)) return one;
  }
  return std::nullopt;
}

void measure_one_sided(OneSided operation, const Sweep& sweep, const OneSidedOptions& options,
                       Fabric& fabric, Monitor& monitor,
                       const std::function<void(const OneSidedRow&)>& row) {
  if (operation != OneSided::kAllToAll && (fabric.size() % 2 != 0))
    throw Unsupported(fmt::format("{} works in pairs of ranks: an even number, not {}",
                                  to_string(operation), fabric.size()));
  const std::vector<std::size_t> word = {sizeof(std::int64_t)};
  for (const std::size_t size : operation == OneSided::kAtomic ? word : sweep.sizes) {
    if (size > INT_MAX)
      throw Unsupported(
          fmt::format("{} bytes are more than an MPI call can count; at most {}", size, INT_MAX));
    const std::size_t bytes = std::max<std::size_t>(1, size);
    monitor.doing(fmt::format("{} of {} bytes", to_string(operation), bytes));
    row(Measurement(operation, sweep, options, fabric, monitor, bytes).measure());
  }
}

std::string one_sided_header(OneSided operation, const Sweep& sweep, const OneSidedOptions& options,
                             const Fabric& fabric) {
  std::string text = fmt::format(
      "# muster-bench version {} {}\n# One-sided test starting: {}{}\n", MUSTER_VERSION,
      fabric.name(), to_string(operation),
      operation == OneSided::kAtomic ? std::string(" ") + to_string(options.atomic) : "");
  text += fmt::format("# ranks: {} warmup iters: {} iters: {} window: {} bidirectional: {}\n",
                      fabric.size(), sweep.warmup, sweep.iterations, options.window,
                      options.both_ways ? 1 : 0);
  return text + fmt::format("#{:>11}  {:>11}  {:>10}  {:>12}  {:>12}  {:>6}\n", "size(B)",
                            "latency(us)", "BW(GB/s)", "slowest(GB/s)", "Mops/s", "#wrong");
}

std::string line(const OneSidedRow& row) {
  return fmt::format("{:>12}  {:>11.2f}  {:>10.3f}  {:>13.3f}  {:>12.4f}  {:>6}\n", row.bytes,
                     row.latency, row.bandwidth, row.slowest_bandwidth, row.million_per_second,
                     row.wrong ? fmt::format("{}", *row.wrong) : "N/A");
}

}  // namespace muster::measure
