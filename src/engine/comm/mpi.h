// The communicator over MPI, called directly.
#pragma once

#include <memory>

#include "engine/comm/communicator.h"

namespace muster::comm {

/// True when this process was started by an MPI launcher: mpirun, or `srun --mpi=pmix`.
bool launched_by_mpi();

std::shared_ptr<Communicator> connect_mpi(const Options& options);

}  // namespace muster::comm
