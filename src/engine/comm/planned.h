// A communicator that carries out plans of point-to-point transfers: what MPI, Gloo and the single
// process share.
#pragma once

#include <vector>

#include "engine/comm/checked.h"
#include "engine/comm/plan.h"

namespace muster::comm {

class PlannedCommunicator : public CheckedCommunicator {
 protected:
  PlannedCommunicator(Place place, Options options)
      : CheckedCommunicator(place, options, torch::kCPU) {}

  virtual Handle submit(Operation operation, Plan plan) = 0;

  Handle start_all_reduce(Operation operation, const torch::Tensor& out, const torch::Tensor& in,
                          const Reduction& how) override {
    return submit(std::move(operation), plan_all_reduce(place_, out, in, how));
  }
  Handle start_reduce_scatter(Operation operation, const torch::Tensor& out,
                              const torch::Tensor& in, const Reduction& how) override {
    return submit(std::move(operation), plan_reduce_scatter(place_, out, in, how));
  }
  Handle start_all_gather(Operation operation, const torch::Tensor& out,
                          const torch::Tensor& in) override {
    return submit(std::move(operation), plan_all_gather(place_, out, in));
  }
  Handle start_all_to_all(Operation operation, const torch::Tensor& out, const torch::Tensor& in,
                          const std::vector<std::int64_t>& out_counts,
                          const std::vector<std::int64_t>& in_counts) override {
    return submit(std::move(operation), plan_all_to_all(place_, out, in, out_counts, in_counts));
  }
  Handle start_broadcast(Operation operation, const torch::Tensor& data, int root) override {
    return submit(std::move(operation), plan_broadcast(place_, data, root));
  }
  Handle start_send(Operation operation, const torch::Tensor& data, int peer) override {
    return submit(std::move(operation), plan_send(data, peer));
  }
  Handle start_recv(Operation operation, const torch::Tensor& data, int peer) override {
    return submit(std::move(operation), plan_receive(data, peer));
  }
  Handle start_barrier(Operation operation) override {
    return submit(std::move(operation), plan_barrier(place_));
  }
};

}  // namespace muster::comm
