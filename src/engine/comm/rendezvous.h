// The meeting of a job's processes by environment variables, and the store that they share from
// then on.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/c10d_compat.h"
#include "engine/comm/plan.h"

namespace muster::comm {

struct Rendezvous {
  Place place;
  std::string address;  ///< MASTER_ADDR
  int port = 0;         ///< MASTER_PORT
};

/// RANK, WORLD_SIZE, MASTER_ADDR (default 127.0.0.1), MASTER_PORT (default 29500). Throws Error
/// that names the variable.
Rendezvous rendezvous_from_environment();

/// Meets the others; rank 0 holds the store. Throws Timeout that names the missing, or Error.
Store meet(const Rendezvous& where, std::chrono::milliseconds limit);

/// Who waits, told through the store. The store's own calls can block when rank 0 is stopped, so
/// they are made in threads of their own, which are given up on.
class WaitBoard {
 public:
  WaitBoard(Store store, Place place);

  /// "I (still) wait."
  void say();
  /// Who says it, from what changes within `window`, during which this rank says it too; rank 0
  /// counts as silent when the store does not answer.
  std::vector<bool> listen(std::chrono::milliseconds window);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  Place place_;
};

}  // namespace muster::comm
