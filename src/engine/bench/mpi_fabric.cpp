// The measured operations on MPI's own blocking calls, as a bare loop would make them.
#include <mpi.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#include <fmt/format.h>

#include "engine/bench/fabric.h"
#include "engine/bench/mpi_reduction.h"
#include "engine/bench/mpi_support.h"
#include "engine/bench/reduction.h"

namespace muster::measure {
namespace {

std::vector<Seat> exchange_seats(int size) {
  struct Record {
    int pid;
    char host[252];
  };
  Record own{static_cast<int>(getpid()), {}};
  gethostname(own.host, sizeof own.host - 1);
  std::vector<Record> all(static_cast<std::size_t>(size));
  check_mpi(
      MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD),
      "MPI_Allgather");
  std::vector<Seat> seats;
  for (int r = 0; r < size; ++r) {
    const Record& record = all[static_cast<std::size_t>(r)];
    seats.push_back({r, record.pid, record.host});
  }
  return seats;
}

char* at(void* data, std::size_t elements, DataType type) {
  return static_cast<char*>(data) + elements * size_of(type);
}

class MpiFabric : public Fabric {
 public:
  MpiFabric() {
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized == 0) check_mpi(MPI_Init(nullptr, nullptr), "MPI_Init");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    seats_ = exchange_seats(size_);
  }
  ~MpiFabric() override {
    // While an exception ends this rank the others may not come; the launcher ends them.
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::vector<Seat>& seats() const override { return seats_; }

  std::string name() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole(text, static_cast<std::size_t>(length));
    return "mpi: " + whole.substr(0, whole.find_first_of(",\n"));
  }

  void check(const Call& call) const override {
    if (std::max(call.counts.send, call.counts.recv) > INT_MAX)
      throw Unsupported(fmt::format(
          "{} elements are more than an MPI call can count; at most {} "
          "bytes of {}",
          std::max(call.counts.send, call.counts.recv),
          static_cast<std::size_t>(INT_MAX) * size_of(call.type), to_string(call.type)));
    if (call.operation == Operation::kHypercube && (size_ & (size_ - 1)) != 0)
      throw Unsupported(fmt::format("hypercube needs a power of two of ranks, not {}", size_));
  }

  void prepare(const Call& call) override {
    check(call);
    call_ = call;
    type_ = mpi_type(call.type);
    op_ = reduces(call.operation) ? mpi_op(call.type, call.reduction) : MPI_OP_NULL;
    part_ = static_cast<int>(call.counts.part);
    scratch_.clear();
    if (reduces(call.operation) && call.reduction == Reduction::kMulSum)
      scratch_.resize(call.counts.send * size_of(call.type));
    counts_to_.clear();
    if (call.operation != Operation::kAllToAllV) return;
    offsets_to_.clear();
    offsets_from_.clear();
    for (int peer = 0; peer < size_; ++peer) {
      counts_to_.push_back(static_cast<int>(part_to(call.counts.part, rank_, peer)));
      offsets_to_.push_back(static_cast<int>(offset_to(call.counts.part, rank_, peer)));
      offsets_from_.push_back(static_cast<int>(offset_from(call.counts.part, peer, rank_)));
    }
  }

  void run() override {
    void* send = call_.in_place ? MPI_IN_PLACE : call_.send;
    void* recv = call_.recv;
    const int root = call_.root;
    switch (call_.operation) {
      case Operation::kAllReduce:
        check_mpi(
            MPI_Allreduce(scaled(send, call_.counts.part), recv, part_, type_, op_, MPI_COMM_WORLD),
            "MPI_Allreduce");
        average(recv, call_.counts.part);
        break;
      case Operation::kReduce: {
        // Only the root may give MPI_IN_PLACE.
        void* from = call_.in_place && rank_ != root ? recv : send;
        check_mpi(MPI_Reduce(scaled(from, call_.counts.part), recv, part_, type_, op_, root,
                             MPI_COMM_WORLD),
                  "MPI_Reduce");
        if (rank_ == root) average(recv, call_.counts.part);
        break;
      }
      case Operation::kReduceScatter:
        check_mpi(MPI_Reduce_scatter_block(scaled(send, call_.counts.send), recv, part_, type_, op_,
                                           MPI_COMM_WORLD),
                  "MPI_Reduce_scatter_block");
        average(recv, call_.counts.part);
        break;
      case Operation::kAllGather:
        check_mpi(MPI_Allgather(send, part_, type_, recv, part_, type_, MPI_COMM_WORLD),
                  "MPI_Allgather");
        break;
      case Operation::kAllToAll:
        check_mpi(MPI_Alltoall(send, part_, type_, recv, part_, type_, MPI_COMM_WORLD),
                  "MPI_Alltoall");
        break;
      case Operation::kAllToAllV:
        check_mpi(MPI_Alltoallv(send, counts_to_.data(), offsets_to_.data(), type_, recv,
                                counts_to_.data(), offsets_from_.data(), type_, MPI_COMM_WORLD),
                  "MPI_Alltoallv");
        break;
      case Operation::kBroadcast: {
        void* data = !call_.in_place && rank_ == root ? call_.send : recv;
        check_mpi(MPI_Bcast(data, part_, type_, root, MPI_COMM_WORLD), "MPI_Bcast");
        break;
      }
      case Operation::kGather: {
        void* from = call_.in_place && rank_ != root ? own(recv) : send;
        check_mpi(MPI_Gather(from, part_, type_, recv, part_, type_, root, MPI_COMM_WORLD),
                  "MPI_Gather");
        break;
      }
      case Operation::kScatter: {
        const bool root_in_place = call_.in_place && rank_ == root;
        check_mpi(
            MPI_Scatter(call_.in_place ? recv : send, part_, type_,
                        root_in_place ? MPI_IN_PLACE : recv, part_, type_, root, MPI_COMM_WORLD),
            "MPI_Scatter");
        break;
      }
      case Operation::kSendRecv:
        send_receive(recv);
        break;
      case Operation::kHypercube:
        hypercube(recv);
        break;
    }
  }

  void barrier() override { check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }
  void sum(std::vector<double>& values) override { over_ranks(values, MPI_SUM); }
  void max(std::vector<double>& values) override { over_ranks(values, MPI_MAX); }
  void min(std::vector<double>& values) override { over_ranks(values, MPI_MIN); }

 private:
  void over_ranks(std::vector<double>& values, MPI_Op op) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                            MPI_DOUBLE, op, MPI_COMM_WORLD),
              "MPI_Allreduce");
  }

  void* own(void* data) const {
    return at(data, call_.counts.part * static_cast<std::size_t>(rank_), call_.type);
  }

  /// mulsum multiplies before it sums: MPI has no such operation.
  void* scaled(void* data, std::size_t elements) {
    if (call_.reduction != Reduction::kMulSum) return data;
    const bool in_place = data == MPI_IN_PLACE;
    void* target = in_place ? call_.recv : scratch_.data();
    const void* source = in_place ? call_.recv : data;
    scale(call_.type, 1 + rank_ % 2, source, target, elements);
    return in_place ? data : target;
  }

  void average(void* data, std::size_t elements) const {
    if (call_.reduction == Reduction::kAvg) scale(call_.type, 1.0 / size_, data, data, elements);
  }

  /// A ring: to the next rank, from the one before.
  void send_receive(void* recv) {
    const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
    if (call_.in_place) {
      check_mpi(MPI_Sendrecv_replace(recv, part_, type_, next, 0, before, 0, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE),
                "MPI_Sendrecv_replace");
    } else {
      check_mpi(MPI_Sendrecv(call_.send, part_, type_, next, 0, recv, part_, type_, before, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
    }
  }

  /// All parts to all ranks: in round k everything gathered so far is exchanged with the rank that
  /// differs in bit k.
  void hypercube(void* recv) {
    const std::size_t part = call_.counts.part;
    if (!call_.in_place) std::memcpy(own(recv), call_.send, part * size_of(call_.type));
    for (int bit = 1; bit < size_; bit *= 2) {
      const int peer = rank_ ^ bit;
      const auto first = static_cast<std::size_t>(rank_ & ~(bit - 1)) * part;
      const auto theirs = static_cast<std::size_t>(peer & ~(bit - 1)) * part;
      check_mpi(MPI_Sendrecv(at(recv, first, call_.type), part_ * bit, type_, peer, bit,
                             at(recv, theirs, call_.type), part_ * bit, type_, peer, bit,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
    }
  }

  int rank_ = 0, size_ = 1;
  std::vector<Seat> seats_;
  Call call_;
  MPI_Datatype type_ = MPI_BYTE;
  MPI_Op op_ = MPI_OP_NULL;
  int part_ = 0;
  std::vector<char> scratch_;
  std::vector<int> counts_to_, offsets_to_, offsets_from_;  ///< alltoallv; counts are symmetric
};

}  // namespace

std::unique_ptr<Fabric> connect_mpi() {
  return std::make_unique<MpiFabric>();
}

}  // namespace muster::measure
