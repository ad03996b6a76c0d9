// A communicator that carries out plans of point-to-point transfers: what MPI, Gloo and the single
// process share.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/plan.h"

namespace muster::comm {

/// What is being done, for messages, and the number by which the ranks tell their operations apart.
struct Operation {
  std::string name;  ///< "all_gather #42 of 1048576 float32"
  std::uint64_t number =
      0;        ///< counts the collectives of this communicator from 1; 0: a send or receive
  int tag = 0;  ///< for its transfers, unlike that of operations near it
};

/// Checks arguments, names operations and makes their plans; a transport carries them out.
class PlannedCommunicator : public Communicator {
 public:
  int rank() const override { return place_.rank; }
  int size() const override { return place_.size; }
  const std::vector<Member>& members() const override { return members_; }

  Handle all_reduce(torch::Tensor data, Reduction how) override;
  Handle all_reduce(torch::Tensor out, torch::Tensor in, Reduction how) override;
  Handle reduce_scatter(torch::Tensor out, torch::Tensor in, Reduction how) override;
  Handle all_gather(torch::Tensor out, torch::Tensor in) override;
  Handle all_to_all(torch::Tensor out, torch::Tensor in, std::vector<std::int64_t> out_counts,
                    std::vector<std::int64_t> in_counts) override;
  Handle broadcast(torch::Tensor data, int root) override;
  Handle send(torch::Tensor data, int peer, int tag) override;
  Handle recv(torch::Tensor data, int peer, int tag) override;
  Handle barrier() override;
  double take_wait_seconds() override;

 protected:
  PlannedCommunicator(Place place, Options options) : place_(place), options_(options) {}

  /// Starts an operation.
  virtual Handle submit(Operation operation, Plan plan) = 0;
  /// The transport's own all_reduce, in place; null when it has none for this type. Used when not
  /// deterministic.
  virtual Handle native_all_reduce(Operation operation, const torch::Tensor& data, Op op);

  /// Fills members(): host names and process ids travel by all_gather. Once, when connected.
  void exchange_members();
  /// Members of a split: those of this communicator that have the colour, in order. Collective.
  std::vector<Member> members_of_colour(int colour);
  /// The members in question: `heard[r]` says that rank r was heard to wait.
  Timeout timeout(const Operation& operation, const std::vector<bool>& heard) const;

  Place place_;
  Options options_;
  std::vector<Member> members_;  ///< ranks as numbered in this communicator
  double wait_seconds_ = 0;

 private:
  Operation collective(const char* name, const torch::Tensor& tensor);

  std::uint64_t operations_ = 0;
};

/// After how long a waiting rank tells the others, and how often it says it again.
std::chrono::milliseconds notice_period(std::chrono::milliseconds limit);

/// How long a rank at its limit still listens: others that came late must be able to say that they
/// wait.
std::chrono::milliseconds notice_grace(std::chrono::milliseconds limit);

/// This process, for members().
Member this_process(int rank);

/// Tags of collectives lie below, tags of send and recv above.
inline constexpr int kCollectiveTags = 1 << 14;

}  // namespace muster::comm
