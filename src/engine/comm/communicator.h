// Collectives between the ranks of a job: one interface over MPI, c10d (Gloo, NCCL) and a single
// process.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <torch/types.h>

#include "engine/comm/observer.h"

namespace muster::comm {

enum class Op { kSum, kMax, kMin };

/// How values are reduced: out = [out +] scale * op(all ranks).
struct Reduction {
  Op op = Op::kSum;
  double scale = 1.0;       ///< floating-point types only
  bool accumulate = false;  ///< adds to what `out` holds

  Reduction(Op operation = Op::kSum, double factor = 1.0,
            bool add_to_out = false)  // NOLINT: an Op is one
      : op(operation), scale(factor), accumulate(add_to_out) {}
};

/// A process of the job.
struct Member {
  int rank = 0;
  std::string host;
  int pid = 0;
};

/// A collective that did not finish in time: which one, who waited, who never came.
class Timeout : public std::runtime_error {
 public:
  Timeout(std::string operation, std::vector<Member> waiting, std::vector<Member> missing,
          std::chrono::milliseconds limit);
  const std::string& operation() const { return operation_; }
  /// Those known to wait, this rank among them.
  const std::vector<Member>& waiting() const { return waiting_; }
  /// Those that did not say that they wait. Empty: all wait, for each other (they called different
  /// operations).
  const std::vector<Member>& missing() const { return missing_; }

 private:
  std::string operation_;
  std::vector<Member> waiting_;
  std::vector<Member> missing_;
};

/// Any other failure of the transport (a peer died, a mismatch of sizes that it noticed).
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An operation under way. The tensors given must stay untouched until wait() returns.
class Work {
 public:
  virtual ~Work() = default;
  /// True when done; makes progress.
  virtual bool test() = 0;
  /// Returns when done. Throws Timeout after the communicator's time limit.
  virtual void wait() = 0;
  /// When it was done, where the transport notes that; else whoever waited for it knows best.
  virtual std::optional<std::chrono::steady_clock::time_point> done_at() const {
    return std::nullopt;
  }
};

using Handle = std::shared_ptr<Work>;

struct Options {
  std::chrono::milliseconds time_limit{std::chrono::minutes(10)};
  /// How long the ranks may take to find each other at the start (c10d; an MPI launcher has its
  /// own).
  std::chrono::milliseconds connect_limit{std::chrono::minutes(2)};
  /// Reductions summed in rank order, so that a repeated run gives the same bits. Otherwise
  /// all_reduce is the transport's.
  bool deterministic = true;
  /// Told of every operation; null: nobody is.
  std::shared_ptr<Observer> observer;
  std::string group = "world";  ///< this communicator, for the observer
};

/// Tensors are contiguous, on the device of the transport, of type float32, bfloat16, float64,
/// int64, int32 or uint8. Every rank calls the same operations in the same order. Several may be
/// under way; they complete in any order.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string transport() const = 0;  ///< "mpi", "gloo", "nccl", "single"
  virtual const std::vector<Member>& members() const = 0;

  /// In place. bfloat16 is summed in float32 and rounded once.
  virtual Handle all_reduce(torch::Tensor data, Reduction how = {}) = 0;
  /// Out of place: `out` has as many elements as `in`, and may be float32 for a bfloat16 `in`. `in`
  /// is left as it was.
  virtual Handle all_reduce(torch::Tensor out, torch::Tensor in, Reduction how) = 0;
  /// `in` holds size() equal parts; `out` gets the reduction of part rank(). `out` may be float32
  /// for a bfloat16 `in`: then half the bytes travel and the sum is still made in float32.
  virtual Handle reduce_scatter(torch::Tensor out, torch::Tensor in, Reduction how = {}) = 0;
  /// `out` gets the `in` of every rank, in rank order. `in` may be out's own part (in place).
  virtual Handle all_gather(torch::Tensor out, torch::Tensor in) = 0;
  /// Part i of `in` goes to rank i; part i of `out` comes from it. Empty counts: equal parts; else
  /// elements per peer.
  virtual Handle all_to_all(torch::Tensor out, torch::Tensor in,
                            std::vector<std::int64_t> out_counts = {},
                            std::vector<std::int64_t> in_counts = {}) = 0;
  virtual Handle broadcast(torch::Tensor data, int root) = 0;
  /// To or from another rank; messages of one pair and tag arrive in the order sent.
  virtual Handle send(torch::Tensor data, int peer, int tag = 0) = 0;
  virtual Handle recv(torch::Tensor data, int peer, int tag = 0) = 0;
  virtual Handle barrier() = 0;

  /// The ranks of equal colour, ordered by rank; a collective call.
  virtual std::shared_ptr<Communicator> split(int colour) = 0;

  /// Seconds this rank has spent waiting in wait() since the last call.
  virtual double take_wait_seconds() = 0;

  /// Ends the whole job at once, other ranks too, with this exit code; for use after a Timeout or
  /// Error. Under c10d this ends the process: the launcher, or the broken connections, end the
  /// others.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

enum class Transport { kAuto, kMpi, kGloo, kNccl, kSingle };

/// Joins the job. kAuto: MPI when started by mpirun or `srun --mpi=pmix`; c10d when RANK and
/// WORLD_SIZE are set (NCCL if the device is CUDA, else Gloo); otherwise one process alone, which
/// needs neither. Throws Error that says what is missing.
std::shared_ptr<Communicator> connect(Transport transport, const Options& options,
                                      torch::Device device = torch::kCPU);

}  // namespace muster::comm
