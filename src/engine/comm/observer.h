// Who looks at a rank's operations: told of each when it is over, and of the time spent waiting for
// it. Without one nothing is measured.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace muster::comm {

class Observer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// An operation as traces tell it. Ranks of a group number its collectives alike, so that one's
  /// operation can be held against another's.
  struct Seen {
    std::string name;          ///< "all_gather"
    std::string group;         ///< "world", or "world/3.1" for a split of it
    std::uint64_t number = 0;  ///< from 1; 0: a send or a receive
    std::int64_t bytes = 0;    ///< of this rank's larger side
    Time begin, end;           ///< from the call to the end
  };

  virtual ~Observer() = default;
  /// Whether it looks now.
  virtual bool looks() const = 0;
  virtual void operation(const Seen& seen) = 0;
  /// `begin` and `end` of the waiting.
  virtual void waiting(const Seen& seen) = 0;
};

}  // namespace muster::comm
