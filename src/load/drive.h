// Sends the requests of a load when they are due and times their answers: one thread, one event
// loop, any number of connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "load/arrivals.h"
#include "load/histogram.h"
#include "load/protocol.h"
#include "load/sample.h"
#include "load/workload.h"

namespace muster::load {

struct DriveOptions {
  std::string server;  ///< http://host:port, without the path
  std::string path;    ///< empty: the interface's own
  std::vector<std::pair<std::string, std::string>> headers;
  Dialect dialect;
  Workload workload;

  // Closed loop: `concurrency` users, each with one request at a time. Open loop: `arrivals`.
  int concurrency = 1;
  bool open_loop = false;
  std::vector<Arrival> arrivals;

  std::chrono::nanoseconds duration{std::chrono::seconds(30)};  ///< no request begins after it
  std::uint64_t most_conversations = 0;                         ///< 0: no limit
  std::chrono::nanoseconds think{0};  ///< between an answer and the next turn
  std::chrono::milliseconds request_limit{std::chrono::seconds(120)};
  std::uint64_t first_conversation = 0;  ///< so that a sweep's levels share no prompts

  /// About four times a second; false ends the load, and open requests count as interrupted.
  std::function<bool(std::uint64_t done, std::uint64_t failed, int open, double seconds)> watch;
};

struct DriveResult {
  std::vector<Sample> samples;  ///< by the time they were due
  std::int64_t wall = 0;        ///< nanoseconds, until the last answer
  bool interrupted = false;
  int most_open = 0;  ///< requests in flight at once

  // How far the generator itself was from ideal.
  Histogram send_delay;      ///< from due to sent
  Histogram loop;            ///< one turn of the event loop, work only
  double cpu_seconds = 0;    ///< of this process, user and system
  double stolen_share = -1;  ///< of all processors' time by the hypervisor; -1: not known
};

/// Failure: libcurl is missing, the address can't be used, no file descriptors.
Result<DriveResult> drive(const DriveOptions& options);

}  // namespace muster::load
