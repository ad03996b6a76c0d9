// The communicator over PyTorch's c10d: rendezvous by RANK, WORLD_SIZE, MASTER_ADDR and
// MASTER_PORT, as torchrun and the Kubernetes operators set them.
#pragma once

#include <memory>

#include "engine/comm/communicator.h"

namespace muster::comm {

/// True when RANK and WORLD_SIZE are set.
bool launched_by_environment();

std::shared_ptr<Communicator> connect_gloo(const Options& options);

/// Needs a build with MUSTER_CUDA; `device` is a CUDA device.
std::shared_ptr<Communicator> connect_nccl(const Options& options, torch::Device device);

}  // namespace muster::comm
