#include "engine/bench/runner.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "bench/formulas.h"
#include "engine/bench/pattern.h"

namespace muster::measure {
namespace {

using Clock = std::chrono::steady_clock;

double cpu_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

double wall_microseconds() {
  return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count();
}

/// Pages that are there before anything is timed; it begins with one, as OSU's do.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes)
      : size_(std::max<std::size_t>(bytes, 64)),
        data_(static_cast<char*>(std::aligned_alloc(kPage, (size_ + kPage - 1) / kPage * kPage))) {
    if (data_ == nullptr) throw std::bad_alloc();
    poison();
  }
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void poison() { std::memset(data_, 0x5a, size_); }
  char* data() const { return data_; }

 private:
  static constexpr std::size_t kPage = 4096;
  std::size_t size_;
  char* data_;
};

class Measurement {
 public:
  Measurement(const Sweep& sweep, Fabric& fabric, Monitor& monitor, const Pattern& pattern,
              const Counts& counts)
      : sweep_(sweep),
        fabric_(fabric),
        monitor_(monitor),
        pattern_(pattern),
        counts_(counts),
        width_(size_of(pattern.type)) {}

  Half measure(bool in_place) {
    std::optional<Monitor::Apart> apart(monitor_);
    Buffer send(in_place ? 0 : counts_.send * width_);
    Buffer recv((in_place ? std::max(counts_.send, counts_.recv) : counts_.recv) * width_);
    Call call{pattern_.operation, pattern_.type, pattern_.reduction,
              pattern_.root,      counts_,       send.data(),
              recv.data(),        in_place};
    fill_in(call);
    fabric_.prepare(call);
    fabric_.stage();
    apart.reset();
    Half half;
    half.microseconds = timed();
    const double bytes =
        bench::base_bytes(to_string(pattern_.operation),
                          static_cast<double>(counts_.bytes(pattern_.type)), pattern_.ranks)
            .value_or(0);
    half.algbw = bytes == 0 ? 0 : bench::algbw(bytes, half.microseconds);
    half.busbw =
        half.algbw * bench::bus_factor(to_string(pattern_.operation), pattern_.ranks).value_or(0);
    // No element: nothing that could be wrong, or right.
    if (sweep_.checks > 0 && counts_.recv > 0) half.wrong = checked(call, recv);
    return half;
  }

 private:
  void run() {
    monitor_.begin();
    fabric_.run();
  }

  double timed() {
    for (int i = 0; i < sweep_.warmup; ++i) run();
    fabric_.barrier();
    const double times = static_cast<double>(sweep_.iterations) * sweep_.aggregated;
    monitor_.begin();
    if (const auto time = sweep_.cpu_time
                              ? std::nullopt
                              : fabric_.run_timed(sweep_.iterations * sweep_.aggregated))
      return over_ranks(*time / times);
    const auto now = sweep_.cpu_time ? &cpu_microseconds : &wall_microseconds;
    const double start = now();
    for (int i = 0; i < sweep_.iterations; ++i) {
      for (int m = 0; m < sweep_.aggregated; ++m) run();
    }
    return over_ranks((now() - start) / times);
  }

  double over_ranks(double each) {
    std::vector<double> time = {each};
    switch (sweep_.average) {
      case 0:
        if (fabric_.rank() != 0) time[0] = 0;
        fabric_.sum(time);
        return time[0];
      case 2:
        fabric_.min(time);
        return time[0];
      case 3:
        fabric_.max(time);
        return time[0];
      default:
        fabric_.sum(time);
        return time[0] / fabric_.size();
    }
  }

  /// Where the rank's data to send lie when they share the receive buffer, in elements.
  std::size_t own_place() const {
    const bool gathers = pattern_.operation == Operation::kAllGather ||
                         pattern_.operation == Operation::kGather ||
                         pattern_.operation == Operation::kHypercube;
    return gathers ? counts_.part * static_cast<std::size_t>(fabric_.rank()) : 0;
  }

  void fill_in(const Call& call) {
    char* data = static_cast<char*>(call.in_place ? call.recv : call.send);
    if (call.in_place) data += own_place() * width_;
    fill(pattern_, fabric_.rank(), counts_.send, data);
  }

  /// The root of a broadcast and, in place, of a scatter has its result where its data were.
  const void* result(const Call& call) const {
    const bool root = fabric_.rank() == call.root;
    if (call.operation == Operation::kBroadcast && root && !call.in_place) return call.send;
    if (call.operation == Operation::kScatter && root && call.in_place)
      return static_cast<char*>(call.recv) +
             counts_.part * static_cast<std::size_t>(fabric_.rank()) * width_;
    return call.recv;
  }

  std::size_t checked(const Call& call, Buffer& recv) {
    std::vector<double> wrong = {0};
    for (int i = 0; i < sweep_.checks; ++i) {
      ++pattern_.seed;
      {
        const Monitor::Apart apart(monitor_);
        recv.poison();
        fill_in(call);
        fabric_.stage();
      }
      fabric_.barrier();
      run();
      const Monitor::Apart apart(monitor_);
      fabric_.fetch();
      wrong[0] += static_cast<double>(count_wrong(pattern_, fabric_.rank(), counts_, result(call)));
    }
    fabric_.sum(wrong);
    return static_cast<std::size_t>(wrong[0]);
  }

  const Sweep& sweep_;
  Fabric& fabric_;
  Monitor& monitor_;
  Pattern pattern_;
  Counts counts_;
  std::size_t width_;
};

}  // namespace

std::size_t memory_for_buffers(const Fabric& fabric) {
  std::ifstream info("/proc/meminfo");
  std::string key, unit;
  double free = 0;
  for (double value = 0; info >> key >> value;) {
    std::getline(info, unit);
    if (key == "MemAvailable:") free = value * 1024;
  }
  const auto& seats = fabric.seats();
  const std::string& host = seats[static_cast<std::size_t>(fabric.rank())].host;
  const auto here = std::count_if(seats.begin(), seats.end(),
                                  [&](const Seat& seat) { return seat.host == host; });
  return static_cast<std::size_t>(free * 0.8 / static_cast<double>(here));
}

void measure(const Sweep& sweep, Fabric& fabric, Monitor& monitor,
             const std::function<void(const Row&)>& row) {
  for (const std::size_t size : sweep.sizes) {
    for (const DataType type : sweep.types) {
      for (const Reduction reduction : sweep.reductions) {
        for (const int root : sweep.roots) {
          Pattern pattern{sweep.operation, type, reduction, fabric.size(), root, 0};
          const Counts count = counts(sweep.operation, size, type, fabric.size());
          monitor.doing(fmt::format("{} of {} bytes of {}", to_string(sweep.operation),
                                    count.bytes(type), to_string(type)));
          Measurement measurement(sweep, fabric, monitor, pattern, count);
          Row result;
          result.bytes = count.bytes(type);
          result.count = count.part;
          result.type = type;
          if (reduces(sweep.operation)) result.reduction = reduction;
          result.root = is_rooted(sweep.operation) ? root : -1;
          result.out_of_place = measurement.measure(false);
          result.in_place = measurement.measure(true);
          if (sweep.timestamps)
            result.time = fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(std::time(nullptr)));
          row(result);
        }
      }
    }
  }
}

}  // namespace muster::measure
