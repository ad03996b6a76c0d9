// How the ranks decide together: what one has found out, all do, so that all end alike.
#pragma once

#include <chrono>
#include <functional>

#include "engine/comm/communicator.h"

namespace muster::train {

/// Where tensors must lie that this transport carries.
torch::Device wire_device(const comm::Communicator& comm);

/// Each rank's `mine` (equal sizes, CPU), one after the other in rank order, on the CPU.
/// Collective.
torch::Tensor gather(comm::Communicator& comm, const torch::Tensor& mine);

/// The sum of all ranks' `mine` (CPU), on the CPU. Collective.
torch::Tensor sum(comm::Communicator& comm, const torch::Tensor& mine);

/// The largest of all ranks' numbers. Collective.
std::int64_t largest(comm::Communicator& comm, std::int64_t mine);

/// Rank 0's number. Collective.
std::int64_t from_first(comm::Communicator& comm, std::int64_t mine);

/// Runs `work` on this rank while every rank waits for all: for work that may take longer than a
/// collective may (preparing data, writing files). The ranks tell each other four times a second
/// that they still live, so a dead one is noticed within the communicator's own limit. Returns
/// false when `limit` passed and some rank was not done. Collective.
bool wait_together(comm::Communicator& comm, std::chrono::seconds limit,
                   const std::function<bool(std::chrono::milliseconds)>& done_within);

/// As wait_together, with `work` in a thread of its own. It must end by itself: it is joined.
void work_together(comm::Communicator& comm, const std::function<void()>& work);

}  // namespace muster::train
