// The job that this process is a rank of: joined with a limit on every wait.
#pragma once

#include <chrono>
#include <memory>

#include "engine/bench/fabric.h"
#include "engine/bench/monitor.h"
#include "engine/bench/roll_call.h"

namespace muster::measure {

class Job {
 public:
  /// Joins the others: those that mpirun or srun started by MPI, those of RANK and WORLD_SIZE over
  /// TCP. When some have not come within `limit`, rank 0 names them and every rank ends (exit 124).
  /// Throws Unsupported for a fabric that is not there.
  explicit Job(std::chrono::milliseconds limit, FabricKind kind = FabricKind::kMpi);

  Fabric& fabric() { return *fabric_; }
  Monitor& monitor() { return monitor_; }
  bool first() const { return fabric_->rank() == 0; }

  /// Waits until all have come to the end.
  void finish();

  /// Says which rank was lost and ends the process.
  [[noreturn]] void end_for(const PeerLost& lost);

 private:
  void join_by_mpi();
  void join_by_environment();

  Monitor monitor_;
  std::chrono::milliseconds limit_;
  RollCall roll_call_;
  std::unique_ptr<Fabric> fabric_;
};

}  // namespace muster::measure
