// Who has come, asked of the launcher's PMIx before MPI starts: MPI_Init waits for all without a
// limit and names nobody.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace muster::measure {

/// This rank's presence among those that the launcher started; held for the life of the program, so
/// around MPI: Open MPI shares PMIx and can't take it up again once it was ended.
class RollCall {
 public:
  RollCall();
  ~RollCall();
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;

  /// Rank 0 waits for all others, at most `limit`, and returns those that never came. Others, and a
  /// program that no launcher with PMIx started, return at once: none.
  std::vector<int> missing(std::chrono::milliseconds limit) const;

 private:
  bool launched_ = false;
  std::string job_;
  unsigned rank_ = 0;
};

}  // namespace muster::measure
