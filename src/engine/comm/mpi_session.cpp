#include "engine/comm/mpi_session.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <thread>

#include <fmt/format.h>

namespace muster::comm {

void check_mpi(int code, const char* call, const std::string& operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(
      fmt::format("{}{}{} failed: {}", operation, operation.empty() ? "" : ": ", call, text));
}

MpiOperation::MpiOperation(MPI_Comm comm, int tag, Plan plan, std::string name)
    : comm_(comm),
      tag_(tag),
      plan_(std::move(plan)),
      name_(std::move(name)),
      requests_(plan_.stages.size()) {}

MpiOperation::MpiOperation(MPI_Request request, std::vector<torch::Tensor> tensors,
                           std::string name)
    : name_(std::move(name)), posted_(1), requests_{{request}} {
  plan_.stages.resize(1);
  plan_.tensors = std::move(tensors);
}

void MpiOperation::post() {
  while (posted_ < plan_.stages.size() && posted_ < finished_ + plan_.window) {
    const Stage& stage = plan_.stages[posted_];
    if (stage.after_earlier && finished_ < posted_) return;
    std::vector<MPI_Request>& requests = requests_[posted_];
    requests.reserve(stage.transfers.size());
    for (const Transfer& transfer : stage.transfers) {
      MPI_Request request = MPI_REQUEST_NULL;
      const int bytes = static_cast<int>(transfer.bytes);
      if (transfer.kind == Transfer::Kind::kSend) {
        check_mpi(MPI_Isend(transfer.data, bytes, MPI_BYTE, transfer.peer, tag_, comm_, &request),
                  "MPI_Isend", name_);
      } else {
        check_mpi(MPI_Irecv(transfer.data, bytes, MPI_BYTE, transfer.peer, tag_, comm_, &request),
                  "MPI_Irecv", name_);
      }
      requests.push_back(request);
    }
    ++posted_;
  }
}

void MpiOperation::advance() {
  while (!done_) {
    post();
    if (finished_ == plan_.stages.size()) {
      done_ = true;
      done_at_ = std::chrono::steady_clock::now();
      plan_.tensors.clear();
      return;
    }
    std::vector<MPI_Request>& requests = requests_[finished_];
    int complete = 1;
    if (!requests.empty()) {
      check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &complete,
                            MPI_STATUSES_IGNORE),
                "MPI_Testall", name_);
    }
    if (complete == 0) return;
    requests.clear();
    if (plan_.stages[finished_].finish) plan_.stages[finished_].finish();
    ++finished_;
  }
}

std::shared_ptr<MpiSession> MpiSession::join(std::chrono::milliseconds time_limit) {
  static std::weak_ptr<MpiSession> current;
  std::shared_ptr<MpiSession> session = current.lock();
  if (!session) {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) throw Error("MPI was ended in this process and can't be started again");
    session = std::shared_ptr<MpiSession>(new MpiSession(time_limit));
    current = session;
  }
  return session;
}

MpiSession::MpiSession(std::chrono::milliseconds time_limit) : time_limit_(time_limit) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) {
    int provided = MPI_THREAD_SINGLE;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
              "MPI_Init_thread");
    if (provided < MPI_THREAD_SERIALIZED)
      throw Error("this MPI does not allow calls from more than one thread");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

// MPI_Finalize waits for all ranks: only after a barrier that does so within the limit, and never
// while an exception unwinds this process. Without it, the launcher notices that this process ended
// and ends the others.
MpiSession::~MpiSession() {
  if (broken_ || std::uncaught_exceptions() > 0) return;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) return;
  const auto deadline = std::chrono::steady_clock::now() + time_limit_;
  Backoff backoff;
  for (int complete = 0; complete == 0; backoff.pause()) {
    if (MPI_Test(&request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    if (complete == 0 && std::chrono::steady_clock::now() > deadline) return;
  }
  MPI_Finalize();
}

void MpiSession::add(std::shared_ptr<MpiOperation> operation) {
  operation->advance();
  if (!operation->done()) operations_.push_back(std::move(operation));
}

void MpiSession::progress() {
  for (auto it = operations_.begin(); it != operations_.end();) {
    (*it)->advance();
    it = (*it)->done() ? operations_.erase(it) : std::next(it);
  }
}

void Backoff::pause() {
  ++count_;
  if (count_ <= kSpins) return;
  if (count_ <= kYields) {
    sched_yield();
    return;
  }
  std::this_thread::sleep_for(
      std::chrono::microseconds(std::min(20 * (1 + (count_ - kYields) / 16), 1000)));
}

}  // namespace muster::comm
