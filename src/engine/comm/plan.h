// A collective as a plan: point-to-point transfers in stages, with work of this process between
// them. Pure: what a transport must know is how to send and to receive bytes.
//
// Transfers between two ranks match in the order in which they are posted, under one tag for the
// whole plan.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <torch/types.h>

#include "engine/comm/communicator.h"

namespace muster::comm {

struct Transfer {
  enum class Kind { kSend, kReceive };
  Kind kind = Kind::kSend;
  std::byte* data = nullptr;  ///< never written to when sending
  std::int64_t bytes = 0;     ///< 1 to kLargestTransfer
  int peer = 0;
};

/// Longer ones are cut: MPI counts in int.
inline constexpr std::int64_t kLargestTransfer = std::int64_t{1} << 30;

struct Stage {
  std::vector<Transfer> transfers;
  std::function<void()> finish;  ///< run when all transfers are done and all earlier stages have
                                 ///< finished; may be empty
  bool after_earlier = false;    ///< posted only when all earlier stages have finished
};

struct Plan {
  std::vector<Stage> stages;
  std::size_t window =
      1;  ///< a stage is posted once the one `window` places before it has finished
  std::vector<torch::Tensor> tensors;  ///< kept alive until done
};

/// This process's place in the group.
struct Place {
  int rank = 0;
  int size = 1;
};

// The plans of the collectives; arguments as in Communicator, already checked.
Plan plan_all_gather(Place place, const torch::Tensor& out, const torch::Tensor& in);
Plan plan_reduce_scatter(Place place, const torch::Tensor& out, const torch::Tensor& in,
                         const Reduction& how);
/// A reduce_scatter of nearly equal parts into `out`, then an all_gather of them.
Plan plan_all_reduce(Place place, const torch::Tensor& out, const torch::Tensor& in,
                     const Reduction& how);
Plan plan_all_to_all(Place place, const torch::Tensor& out, const torch::Tensor& in,
                     const std::vector<std::int64_t>& out_counts,
                     const std::vector<std::int64_t>& in_counts);
Plan plan_broadcast(Place place, const torch::Tensor& data, int root);  ///< binomial tree
Plan plan_barrier(Place place);                                         ///< dissemination
Plan plan_send(const torch::Tensor& data, int peer);
Plan plan_receive(const torch::Tensor& data, int peer);

}  // namespace muster::comm
