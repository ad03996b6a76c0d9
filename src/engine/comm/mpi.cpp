#include "engine/comm/mpi.h"

#include <mpi.h>

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "engine/comm/mpi_session.h"
#include "engine/comm/planned.h"

namespace muster::comm {
namespace {

using Clock = std::chrono::steady_clock;

class MpiCommunicator;

class MpiWork : public Work {
 public:
  MpiWork(std::shared_ptr<MpiCommunicator> owner, Operation operation,
          std::shared_ptr<MpiOperation> state)
      : owner_(std::move(owner)), operation_(std::move(operation)), state_(std::move(state)) {}
  bool test() override;
  void wait() override;
  std::optional<Clock::time_point> done_at() const override { return state_->done_at(); }

 private:
  std::shared_ptr<MpiCommunicator> owner_;
  Operation operation_;
  std::shared_ptr<MpiOperation> state_;
};

class MpiCommunicator : public PlannedCommunicator,
                        public std::enable_shared_from_this<MpiCommunicator> {
 public:
  /// Takes over both communicators: one for data, one for notices of waiting.
  MpiCommunicator(std::shared_ptr<MpiSession> session, MPI_Comm data, MPI_Comm notices, Place place,
                  const Options& options)
      : PlannedCommunicator(place, options),
        session_(std::move(session)),
        data_(data),
        notices_(notices),
        heard_(static_cast<std::size_t>(place.size)) {}

  ~MpiCommunicator() override;

  static std::shared_ptr<MpiCommunicator> make(std::shared_ptr<MpiSession> session, MPI_Comm data,
                                               const Options& options);

  std::string transport() const override { return "mpi"; }
  std::shared_ptr<Communicator> split(int colour) override;
  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
  }

  /// Progress of everything under way; true when `state` is done.
  bool poll(const MpiOperation& state);
  void wait(const Operation& operation, const MpiOperation& state);

 protected:
  Handle submit(Operation operation, Plan plan) override;
  Handle start_native_all_reduce(Operation operation, const torch::Tensor& data, Op op) override;

 private:
  void send_notices();
  void receive_notices();
  void until_done(const Operation& operation, const MpiOperation& state);

  std::shared_ptr<MpiSession> session_;
  MPI_Comm data_;
  MPI_Comm notices_;
  std::vector<Clock::time_point> heard_;  // when each rank last said that it waits
  char notice_ = 0;                       // what is sent: must outlive the sends
  std::vector<MPI_Request> notice_requests_;
};

bool MpiWork::test() {
  return state_->done() || owner_->poll(*state_);
}

void MpiWork::wait() {
  if (!state_->done()) owner_->wait(operation_, *state_);
}

std::shared_ptr<MpiCommunicator> MpiCommunicator::make(std::shared_ptr<MpiSession> session,
                                                       MPI_Comm data, const Options& options) {
  Place place;
  check_mpi(MPI_Comm_set_errhandler(data, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(data, &place.rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(data, &place.size), "MPI_Comm_size");
  MPI_Comm notices = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(data, &notices), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(notices, MPI_ERRORS_RETURN);
  return std::make_shared<MpiCommunicator>(std::move(session), data, notices, place, options);
}

// The communicators are not freed: that is collective, and MPI_Finalize does it. Notices nobody
// took are eager and small.
MpiCommunicator::~MpiCommunicator() {
  for (MPI_Request& request : notice_requests_) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

std::shared_ptr<Communicator> MpiCommunicator::split(int colour) {
  // Gathering the colours first means that every rank has arrived, with the time limit.
  std::vector<Member> members = members_of_colour(colour);
  const std::lock_guard lock(session_->mutex);
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(data_, colour, rank(), &part), "MPI_Comm_split");
  auto communicator = make(session_, part, options_of_split(colour));
  renumber(members, rank());
  communicator->set_members(std::move(members));
  return communicator;
}

Handle MpiCommunicator::submit(Operation operation, Plan plan) {
  const std::lock_guard lock(session_->mutex);
  auto state =
      std::make_shared<MpiOperation>(data_, operation.tag, std::move(plan), operation.name);
  session_->add(state);
  return std::make_shared<MpiWork>(shared_from_this(), std::move(operation), std::move(state));
}

Handle MpiCommunicator::start_native_all_reduce(Operation operation, const torch::Tensor& data,
                                                Op op) {
  static const std::map<c10::ScalarType, MPI_Datatype> types = {{torch::kFloat32, MPI_FLOAT},
                                                                {torch::kFloat64, MPI_DOUBLE},
                                                                {torch::kInt64, MPI_INT64_T},
                                                                {torch::kInt32, MPI_INT32_T},
                                                                {torch::kUInt8, MPI_UINT8_T}};
  const auto type = types.find(data.scalar_type());
  if (type == types.end() || data.numel() > INT32_MAX) return nullptr;
  const MPI_Op mpi_op = op == Op::kSum ? MPI_SUM : op == Op::kMax ? MPI_MAX : MPI_MIN;
  const std::lock_guard lock(session_->mutex);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(MPI_IN_PLACE, data.data_ptr(), static_cast<int>(data.numel()),
                           type->second, mpi_op, data_, &request),
            "MPI_Iallreduce", operation.name);
  auto state =
      std::make_shared<MpiOperation>(request, std::vector<torch::Tensor>{data}, operation.name);
  session_->add(state);
  return std::make_shared<MpiWork>(shared_from_this(), std::move(operation), std::move(state));
}

bool MpiCommunicator::poll(const MpiOperation& state) {
  const std::lock_guard lock(session_->mutex);
  try {
    session_->progress();
  } catch (const Error&) {
    session_->broken();
    throw;
  }
  return state.done();
}

void MpiCommunicator::wait(const Operation& operation, const MpiOperation& state) {
  const auto start = Clock::now();
  until_done(operation, state);
  wait_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
}

void MpiCommunicator::until_done(const Operation& operation, const MpiOperation& state) {
  const auto period = notice_period(options_.time_limit);
  const auto hearing = period * 5 / 2;  // who waits is heard at least once in this time
  const auto start = Clock::now();
  const auto end = start + options_.time_limit + notice_grace(options_.time_limit);
  auto next_notice = start + period;
  auto last_poll = start;
  // Without a gap since then: a rank that was held up itself must not blame others at once.
  auto listening = start;
  bool first = true;
  Backoff backoff;
  while (!poll(state)) {
    backoff.pause();
    if (!backoff.slow()) continue;
    const auto now = Clock::now();
    if (now - std::exchange(last_poll, now) > period) listening = now;
    const bool over = now >= end && (now - listening >= hearing || now >= end + 4 * hearing);
    if (now < next_notice && !over) continue;
    const std::lock_guard lock(session_->mutex);
    receive_notices();
    // What lay there before belongs to earlier waits; who still waits says it again.
    if (std::exchange(first, false)) heard_.assign(heard_.size(), {});
    if (over) {
      std::vector<bool> heard;
      for (const auto when : heard_) heard.push_back(when > now - hearing);
      session_->broken();
      throw timeout(operation, heard);
    }
    send_notices();
    next_notice = now + period;
  }
}

void MpiCommunicator::send_notices() {
  if (!notice_requests_.empty()) {
    int complete = 0;
    check_mpi(MPI_Testall(static_cast<int>(notice_requests_.size()), notice_requests_.data(),
                          &complete, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (complete == 0) return;  // the last ones are still on their way
  }
  notice_requests_.assign(static_cast<std::size_t>(size()), MPI_REQUEST_NULL);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    check_mpi(MPI_Isend(&notice_, 1, MPI_BYTE, peer, 0, notices_,
                        &notice_requests_[static_cast<std::size_t>(peer)]),
              "MPI_Isend");
  }
}

void MpiCommunicator::receive_notices() {
  for (;;) {
    int there = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, notices_, &there, &status), "MPI_Iprobe");
    if (there == 0) return;
    char notice = 0;
    check_mpi(MPI_Recv(&notice, 1, MPI_BYTE, status.MPI_SOURCE, 0, notices_, MPI_STATUS_IGNORE),
              "MPI_Recv");
    heard_[static_cast<std::size_t>(status.MPI_SOURCE)] = Clock::now();
  }
}

}  // namespace

bool launched_by_mpi() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr;
}

std::shared_ptr<Communicator> connect_mpi(const Options& options) {
  std::shared_ptr<MpiSession> session = MpiSession::join(options.time_limit);
  MPI_Comm world = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
  auto communicator = MpiCommunicator::make(std::move(session), world, options);
  communicator->exchange_members();
  return communicator;
}

}  // namespace muster::comm
