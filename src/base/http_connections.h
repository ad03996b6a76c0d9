// The open connections of a server and how long each may still take: the event loop alone would
// wait for as long as a byte comes now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>

#include "base/http_server.h"

namespace muster::server {

class Connections {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Stage { kHead, kExchange, kIdle };
  struct Connection {
    int socket = -1;
    Stage stage = Stage::kHead;
    Time since;
    bool ended = false;  ///< by us: its end is on its way
  };
  using Handle = std::list<Connection>::iterator;

  explicit Connections(const Options& options) : options_(options) {}

  /// A new one; the one that has waited longest makes room for it when there are too many.
  Handle open(int socket, Time now);
  void close(Handle connection);
  void enter(Handle connection, Stage stage, Time now);

  /// Ends those that have taken too long.
  void sweep(Time now);

  void counts(Counts& to) const;

 private:
  void end(Connection& connection, std::uint64_t& counter);

  const Options options_;
  mutable std::mutex mutex_;
  std::list<Connection> open_;
  std::uint64_t slow_ = 0, idle_ = 0, crowd_ = 0;
};

}  // namespace muster::server
