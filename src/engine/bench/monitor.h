// Ends a job that stands still: MPI's own calls wait without a limit.
//
// Each rank tells rank 0 several times a second, in datagrams beside MPI, how many operations it
// has begun. When nothing moved for the limit, rank 0 names the ranks that are silent (stopped,
// dead, cut off) and those that are behind, and ends the job; another rank speaks when rank 0 does
// not.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/bench/fabric.h"

namespace muster::measure {

/// What rank 0 knows of another rank.
struct Heard {
  std::uint64_t begun = 0;  ///< operations that it has begun
  std::chrono::milliseconds ago{0};
  bool ever = false;
};

/// Who keeps the others waiting: "rank 3 (host n2) has not been heard for 12 s; rank 1 (host n1) is
/// 2 operations behind", or that all wait for each other. `own` is rank 0's count, `heard[r]` what
/// rank r said; silent: not heard for `silence`.
std::string name_missing(const std::vector<Seat>& seats, std::uint64_t own,
                         const std::vector<Heard>& heard, std::chrono::milliseconds silence);

class Monitor {
 public:
  /// Watches from now on. A start-up that takes longer than `limit` and `more` ends the process
  /// (exit 124): whoever knows more than the monitor does has the limit to say so.
  Monitor(std::chrono::milliseconds limit, std::chrono::milliseconds more);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Where rank 0 listens, to be given to the others: "port nonce address…"; empty on failure.
  std::string listen();
  /// The job is complete; `where` is what rank 0's listen() said.
  void joined(int rank, std::vector<Seat> seats, const std::string& where);
  /// What is being done now, for the message.
  void doing(std::string what);
  /// Rank 0: who has not been heard for some time, "rank 3 (host n2) has not been heard for 1.6 s";
  /// empty: nobody, or another rank asks.
  std::string silent();
  /// An operation begins.
  void begin() { begun_.fetch_add(1, std::memory_order_relaxed); }

  /// While it lives this rank works by itself (fills and checks buffers) and waits for nobody.
  class Apart {
   public:
    explicit Apart(Monitor& monitor) : monitor_(monitor) { monitor_.apart_ = true; }
    ~Apart() { monitor_.apart_ = false; }
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;

   private:
    Monitor& monitor_;
  };

 private:
  void watch();
  void tell() const;
  void hear();
  [[noreturn]] void give_up(std::chrono::milliseconds waited);

  const std::chrono::milliseconds limit_, more_at_start_;
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<bool> apart_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::string doing_ = "start-up (MPI_Init)";
  int rank_ = -1;
  std::vector<Seat> seats_;
  std::uint32_t nonce_ = 0;  ///< tells this job's datagrams from others'
  int socket_ = -1;
  struct Target {
    std::uint32_t address;  ///< network order
    std::uint16_t port;     ///< network order
  };
  std::vector<Target> targets_;
  std::vector<std::uint64_t> their_begun_;
  std::vector<std::chrono::steady_clock::time_point> their_time_;
  std::thread thread_;
};

}  // namespace muster::measure
