// MPI of this process: started once, ended with the last communicator; and the operations under way
// on all of them.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <mpi.h>

#include "engine/comm/communicator.h"
#include "engine/comm/plan.h"

namespace muster::comm {

/// Throws Error with MPI's own words when `code` is not MPI_SUCCESS.
void check_mpi(int code, const char* call, const std::string& operation = {});

/// An operation under way: stages are posted, tested and finished in order.
class MpiOperation {
 public:
  MpiOperation(MPI_Comm comm, int tag, Plan plan, std::string name);
  /// A request of MPI's own.
  MpiOperation(MPI_Request request, std::vector<torch::Tensor> tensors, std::string name);

  bool done() const { return done_; }
  /// When that was seen.
  std::optional<std::chrono::steady_clock::time_point> done_at() const { return done_at_; }
  /// Posts, tests and finishes what can be; throws Error when a transfer failed.
  void advance();

 private:
  void post();

  MPI_Comm comm_ = MPI_COMM_NULL;
  int tag_ = 0;
  Plan plan_;
  std::string name_;
  std::size_t finished_ = 0;                        // stages
  std::size_t posted_ = 0;                          // stages
  std::vector<std::vector<MPI_Request>> requests_;  // of each stage
  bool done_ = false;
  std::optional<std::chrono::steady_clock::time_point> done_at_;
};

/// Calls to MPI are made under its mutex: MPI is asked for serialised threads only.
class MpiSession {
 public:
  /// The session of this process, started when there is none. Throws Error when MPI was already
  /// ended.
  static std::shared_ptr<MpiSession> join(std::chrono::milliseconds time_limit);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  void add(std::shared_ptr<MpiOperation> operation);
  /// Makes progress on every operation of every communicator, so that a rank that waits in one does
  /// not hold up another.
  void progress();
  /// After a failure MPI is not ended in the orderly way, which would wait for the others.
  void broken() { broken_ = true; }

  std::recursive_mutex mutex;

 private:
  explicit MpiSession(std::chrono::milliseconds time_limit);

  std::chrono::milliseconds time_limit_;
  std::list<std::shared_ptr<MpiOperation>> operations_;
  bool broken_ = false;
};

/// Polls less and less often: at first at once, then giving up the processor, then sleeping up to a
/// millisecond, since ranks may share processors.
class Backoff {
 public:
  void pause();
  /// True once pauses are long enough for slower business.
  bool slow() const { return count_ > kYields; }

 private:
  static constexpr int kSpins = 32;
  static constexpr int kYields = 96;
  int count_ = 0;
};

}  // namespace muster::comm
