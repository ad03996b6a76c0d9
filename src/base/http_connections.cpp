#include "base/http_connections.h"

#include <sys/socket.h>

#include <algorithm>

namespace muster::server {

// The socket is only shut down here: the event loop notices, and closes it.
void Connections::end(Connection& connection, std::uint64_t& counter) {
  if (connection.ended) return;
  connection.ended = true;
  ++counter;
  shutdown(connection.socket, SHUT_RDWR);
}

Connections::Handle Connections::open(int socket, Time now) {
  const std::lock_guard lock(mutex_);
  const auto alive =
      std::count_if(open_.begin(), open_.end(), [](const Connection& one) { return !one.ended; });
  if (static_cast<std::size_t>(alive) >= options_.connections) {
    // Before any that is being answered, one that idles or has not said what it wants.
    Connection* oldest = nullptr;
    for (Connection& one : open_) {
      if (one.ended) continue;
      const auto rank = [](const Connection& of) {
        return std::pair(of.stage == Stage::kExchange, of.since);
      };
      if (oldest == nullptr || rank(one) < rank(*oldest)) oldest = &one;
    }
    if (oldest != nullptr) end(*oldest, crowd_);
  }
  open_.push_back({socket, Stage::kHead, now, false});
  return std::prev(open_.end());
}

void Connections::close(Handle connection) {
  const std::lock_guard lock(mutex_);
  open_.erase(connection);
}

void Connections::enter(Handle connection, Stage stage, Time now) {
  const std::lock_guard lock(mutex_);
  connection->stage = stage;
  connection->since = now;
}

void Connections::sweep(Time now) {
  const std::lock_guard lock(mutex_);
  for (Connection& one : open_) {
    const auto passed = now - one.since;
    if (one.stage == Stage::kIdle) {
      if (passed > options_.idle) end(one, idle_);
    } else if (passed > (one.stage == Stage::kHead ? options_.head : options_.exchange)) {
      end(one, slow_);
    }
  }
}

void Connections::counts(Counts& to) const {
  const std::lock_guard lock(mutex_);
  to.connections = open_.size();
  to.slow = slow_;
  to.idle = idle_;
  to.crowd = crowd_;
}

}  // namespace muster::server
