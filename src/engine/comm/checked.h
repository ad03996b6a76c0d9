// What all communicators share: the arguments are checked, operations are numbered and named,
// members are known. A transport only carries the operations out.
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
  std::int64_t bytes = 0;  ///< of this rank's larger side
};

class CheckedCommunicator : public Communicator {
 public:
  int rank() const override { return place_.rank; }
  int size() const override { return place_.size; }
  const std::vector<Member>& members() const override { return members_; }

  Handle all_reduce(torch::Tensor data, Reduction how) final;
  Handle all_reduce(torch::Tensor out, torch::Tensor in, Reduction how) final;
  Handle reduce_scatter(torch::Tensor out, torch::Tensor in, Reduction how) final;
  Handle all_gather(torch::Tensor out, torch::Tensor in) final;
  Handle all_to_all(torch::Tensor out, torch::Tensor in, std::vector<std::int64_t> out_counts,
                    std::vector<std::int64_t> in_counts) final;
  Handle broadcast(torch::Tensor data, int root) final;
  Handle send(torch::Tensor data, int peer, int tag) final;
  Handle recv(torch::Tensor data, int peer, int tag) final;
  Handle barrier() final;
  double take_wait_seconds() override;

  void set_members(std::vector<Member> members) { members_ = std::move(members); }
  /// Fills members(): host names and process ids travel by all_gather. Collective, once, when
  /// connected.
  void exchange_members();

 protected:
  CheckedCommunicator(Place place, Options options, torch::Device device)
      : place_(place), options_(options), device_(device) {}

  // The operations, their arguments checked and complete.
  virtual Handle start_all_reduce(Operation operation, const torch::Tensor& out,
                                  const torch::Tensor& in, const Reduction& how) = 0;
  virtual Handle start_reduce_scatter(Operation operation, const torch::Tensor& out,
                                      const torch::Tensor& in, const Reduction& how) = 0;
  virtual Handle start_all_gather(Operation operation, const torch::Tensor& out,
                                  const torch::Tensor& in) = 0;
  virtual Handle start_all_to_all(Operation operation, const torch::Tensor& out,
                                  const torch::Tensor& in,
                                  const std::vector<std::int64_t>& out_counts,
                                  const std::vector<std::int64_t>& in_counts) = 0;
  virtual Handle start_broadcast(Operation operation, const torch::Tensor& data, int root) = 0;
  virtual Handle start_send(Operation operation, const torch::Tensor& data, int peer) = 0;
  virtual Handle start_recv(Operation operation, const torch::Tensor& data, int peer) = 0;
  virtual Handle start_barrier(Operation operation) = 0;
  /// The transport's own all_reduce, in place; null when it has none for this type. Used when not
  /// deterministic.
  virtual Handle start_native_all_reduce(Operation operation, const torch::Tensor& data, Op op);

  /// Members of a split: those of this communicator that have the colour, in order, with their
  /// ranks here. Collective.
  std::vector<Member> members_of_colour(int colour);
  /// The options of a split, right after members_of_colour(): its group has a name of its own.
  Options options_of_split(int colour) const;
  /// The members in question: `heard[r]` says that rank r was heard to wait.
  Timeout timeout(const Operation& operation, const std::vector<bool>& heard) const;

  Place place_;
  Options options_;
  torch::Device device_;
  std::vector<Member> members_;  ///< ranks as numbered in this communicator
  double wait_seconds_ = 0;

 private:
  Operation collective(const char* name, const torch::Tensor& tensor);
  Operation message(const char* name, const torch::Tensor& tensor, int peer, int tag) const;
  /// Starts an operation, with the observer looking on.
  template <typename Start>
  Handle watched(Operation operation, Start&& start);
  void check(const char* operation, const torch::Tensor& tensor) const;
  void check_reduction(const char* operation, const torch::Tensor& out, const torch::Tensor& in,
                       const Reduction& how) const;

  std::uint64_t operations_ = 0;
};

/// The place in a split of the member that has `rank`; numbers the members anew.
Place renumber(std::vector<Member>& members, int rank);

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
