// Measures the native collectives and a bare MPI loop in turns, in one job, so that both have the
// same processes, places and moment. The bare loop is OSU's method: buffers that begin on a page,
// touched before, each call timed by itself, a barrier after each, the mean over ranks of the mean
// time. Like the native runner it takes fresh buffers for each window, as a start of OSU's program
// would: else it keeps for all pairs the pages that it got first, and what is compared is the luck
// of these. Prints one JSON object a line:
// {"operation", "bytes", "iterations", "native_us": [...], "bare_us": [...], "tight_us":
// [...]}; "tight" is a bare loop as nccl-tests and the native runner time it, calls back to back
// with one barrier before them: what the runner adds to that is its overhead.
//
//   mpirun -n 2 collective_pairs PAIRS OPERATION:BYTES…
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/bench/job.h"
#include "engine/bench/runner.h"

namespace {

using muster::measure::Operation;

/// A buffer as OSU's programs allocate theirs.
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* data = nullptr;
    if (posix_memalign(&data, page, bytes + page) != 0) throw std::bad_alloc();
    std::memset(data, 1, bytes);
    data_.reset(static_cast<char*>(data));
  }
  char* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(char* data) const { std::free(data); }
  };
  std::unique_ptr<char, Free> data_;
};

struct Bare {
  Pages send, receive;
  int count = 0;  ///< floats, as MPI's call takes them
  std::function<void()> call;
};

/// The call on buffers of its own; sizes as the native table counts them.
Bare bare(Operation operation, std::size_t bytes, int ranks) {
  Bare one;
  const auto counts =
      muster::measure::counts(operation, bytes, muster::measure::DataType::kFloat, ranks);
  one.send = Pages(counts.send * 4);
  one.receive = Pages(counts.recv * 4);
  one.count = static_cast<int>(counts.part);
  void* send = one.send.data();
  void* receive = one.receive.data();
  const int count = one.count;
  switch (operation) {
    case Operation::kAllReduce:
      one.call = [=] { MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
      break;
    case Operation::kAllGather:
      one.call = [=] {
        MPI_Allgather(send, count, MPI_FLOAT, receive, count, MPI_FLOAT, MPI_COMM_WORLD);
      };
      break;
    case Operation::kReduceScatter:
      one.call = [=] {
        MPI_Reduce_scatter_block(send, receive, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      };
      break;
    case Operation::kAllToAll:
      one.call = [=] {
        MPI_Alltoall(send, count, MPI_FLOAT, receive, count, MPI_FLOAT, MPI_COMM_WORLD);
      };
      break;
    case Operation::kSendRecv:
      one.call = [=] {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Sendrecv(send, count, MPI_FLOAT, (rank + 1) % ranks, 0, receive, count, MPI_FLOAT,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      };
      break;
    default:
      fmt::print(stderr, "collective_pairs: not an operation of this comparison\n");
      std::exit(1);
  }
  return one;
}

/// Short measurements in turns, of which the best are a pair: what others do on the machine only
/// ever adds time.
constexpr int kWindows = 5;

double best(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

double mean_over_ranks(double value, int ranks) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return value / ranks;
}

/// Microseconds of an interval with nothing in it: what OSU's clock adds to each call, which counts
/// where a call takes a tenth of a microsecond.
double empty_interval() {
  constexpr int kTimes = 1000;
  double total = 0;
  for (int i = 0; i < kTimes; ++i) {
    const double start = MPI_Wtime();
    total += MPI_Wtime() - start;
  }
  return total / kTimes * 1e6;
}

double osu_loop(const Bare& one, int warmup, int iterations, int ranks) {
  double total = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = -warmup; i < iterations; ++i) {
    const double start = MPI_Wtime();
    one.call();
    if (i >= 0) total += MPI_Wtime() - start;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return mean_over_ranks(total / iterations * 1e6 - empty_interval(), ranks);
}

double tight_loop(const Bare& one, int warmup, int iterations, int ranks) {
  for (int i = 0; i < warmup; ++i) one.call();
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) one.call();
  return mean_over_ranks((MPI_Wtime() - start) / iterations * 1e6, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace muster::measure;
  if (argc < 3) {
    fmt::print(stderr, "usage: collective_pairs PAIRS OPERATION:BYTES...\n");
    return 1;
  }
  Job job(std::chrono::seconds(120));
  Fabric& fabric = job.fabric();
  const int pairs = std::atoi(argv[1]);
  for (int arg = 2; arg < argc; ++arg) {
    const std::string word = argv[arg];
    const std::size_t colon = word.find(':');
    const auto what = operation(word.substr(0, colon));
    const std::size_t bytes = std::strtoull(word.c_str() + colon + 1, nullptr, 10);
    if (!what || colon == std::string::npos || bytes == 0) return 1;
    // Short: on a machine that others use, most windows are then undisturbed, and so is their
    // median.
    const int iterations = bytes <= 8192 ? 1000 : 10;
    const int warmup = bytes <= 8192 ? 200 : 3;
    Settings settings;
    settings.min_bytes = settings.max_bytes = std::to_string(bytes);
    settings.iterations = iterations;
    settings.warmup = warmup;
    settings.checks = 0;
    const auto sweep = make_sweep(*what, settings, fabric.size());
    if (!sweep) return 1;
    std::vector<double> native, osu, tight;
    for (int pair = 0; pair < pairs; ++pair) {
      std::vector<double> windows[3];
      for (int window = 0; window < kWindows; ++window) {
        measure(*sweep, fabric, job.monitor(),
                [&](const Row& row) { windows[0].push_back(row.out_of_place.microseconds); });
        job.monitor().begin();
        const Bare one = bare(*what, bytes, fabric.size());
        windows[1].push_back(osu_loop(one, warmup, iterations, fabric.size()));
        windows[2].push_back(tight_loop(one, warmup, iterations, fabric.size()));
      }
      native.push_back(best(windows[0]));
      osu.push_back(best(windows[1]));
      tight.push_back(best(windows[2]));
    }
    if (job.first())
      fmt::print(
          "{{\"operation\": \"{}\", \"bytes\": {}, \"iterations\": {}, \"native_us\": [{:.4f}], "
          "\"bare_us\": [{:.4f}], \"tight_us\": [{:.4f}]}}\n",
          to_string(*what), bytes, iterations, fmt::join(native, ", "), fmt::join(osu, ", "),
          fmt::join(tight, ", "));
    std::fflush(stdout);
  }
  job.finish();
  return 0;
}
