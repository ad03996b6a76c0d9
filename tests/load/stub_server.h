// An inference server that answers at known times: what a load generator says is held against it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace muster::testing {

/// Words in the model's name choose how a request is answered:
///   ttft=MS gap=MS   first token and the time between two; default 20 and 5
///   pieces=N         tokens in one event; default 1
///   status=NNN       an error, as OpenAI writes them
///   fail=N           every N-th request gets status 503
///   cut              the connection is closed in the middle of the stream
///   garbage          an event that is not JSON
///   apierror         an error object in the stream
///   silent           no answer at all
///   nousage          the server does not count tokens
///   nodone           the stream ends without [DONE]
class StubServer {
 public:
  StubServer();
  ~StubServer();
  StubServer(const StubServer&) = delete;
  StubServer& operator=(const StubServer&) = delete;

  int port() const { return port_; }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }

  /// Paths and bodies of the requests so far, and the most that were open at once.
  std::vector<std::string> paths() const;
  std::vector<std::string> bodies() const;
  int most_open() const { return most_open_; }

  /// How late each piece was sent, in nanoseconds: no client can be held to less.
  std::vector<std::int64_t> lateness() const;

 private:
  struct Connection;
  struct Piece;
  class Loop;

  int port_ = 0, listener_ = -1, wake_ = -1;
  std::atomic<bool> stop_{false};
  std::atomic<int> most_open_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> paths_, bodies_;
  std::vector<std::int64_t> lateness_;
  std::thread thread_;
};

}  // namespace muster::testing
