// The measured operations on NCCL, between GPUs: each rank has one. Buffers are mirrored in the
// GPU's memory; the stream's events time what runs there. MPI, beneath, brings the ranks together.
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "engine/bench/fabric.h"
#include "engine/bench/mpi_support.h"

namespace muster::measure {
namespace {

void check_cuda(cudaError_t code, const char* call) {
  if (code != cudaSuccess)
    throw std::runtime_error(fmt::format("{} failed: {}", call, cudaGetErrorString(code)));
}

void check_nccl(ncclResult_t code, const char* call) {
  if (code != ncclSuccess)
    throw std::runtime_error(fmt::format("{} failed: {}", call, ncclGetErrorString(code)));
}

int device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::kInt8:
      return ncclInt8;
    case DataType::kUint8:
      return ncclUint8;
    case DataType::kInt32:
      return ncclInt32;
    case DataType::kUint32:
      return ncclUint32;
    case DataType::kInt64:
      return ncclInt64;
    case DataType::kUint64:
      return ncclUint64;
    case DataType::kHalf:
      return ncclFloat16;
    case DataType::kFloat:
      return ncclFloat32;
    case DataType::kDouble:
      return ncclFloat64;
    case DataType::kBfloat16:
      return ncclBfloat16;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0)
    case DataType::kFloat8E4m3:
      return ncclFloat8e4m3;
    case DataType::kFloat8E5m2:
      return ncclFloat8e5m2;
#else
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      break;
#endif
  }
  throw Unsupported(fmt::format("this NCCL does not know the type {}", to_string(type)));
}

/// Memory of the GPU, given back at its end.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void resize(std::size_t bytes) {
    if (bytes <= size_) return;
    cudaFree(data_);
    data_ = nullptr;
    size_ = 0;
    void* fresh = nullptr;
    check_cuda(cudaMalloc(&fresh, bytes), "cudaMalloc");
    data_ = static_cast<char*>(fresh);
    size_ = bytes;
  }
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

class NcclFabric : public Fabric {
 public:
  explicit NcclFabric(std::unique_ptr<Fabric> base) : base_(std::move(base)) {
    find_device();
    ncclUniqueId id{};
    if (rank() == 0) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    check_mpi(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    check_nccl(ncclCommInitRank(&comm_, size(), id, rank()), "ncclCommInitRank");
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
    check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~NcclFabric() override {
    if (std::uncaught_exceptions() > 0) return;
    drop_operation();
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
    ncclCommDestroy(comm_);
  }

  int rank() const override { return base_->rank(); }
  int size() const override { return base_->size(); }
  const std::vector<Seat>& seats() const override { return seats_; }

  std::string name() const override {
    int version = 0;
    ncclGetVersion(&version);
    return fmt::format("nccl: NCCL {}.{}.{} over {}", version / 10000, version / 100 % 100,
                       version % 100, base_->name());
  }

  std::optional<std::size_t> memory() const override {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free / 10 * 9;  // NCCL has buffers of its own
  }

  void check(const Call& call) const override {
    nccl_type(call.type);
    if (call.operation == Operation::kHypercube && (size() & (size() - 1)) != 0)
      throw Unsupported(fmt::format("hypercube needs a power of two of ranks, not {}", size()));
  }

  void prepare(const Call& call) override {
    check(call);
    drop_operation();
    call_ = call;
    width_ = size_of(call.type);
    type_ = nccl_type(call.type);
    if (reduces(call.operation)) make_operation();
    const std::size_t send = call.counts.send * width_, recv = call.counts.recv * width_;
    recv_.resize(std::max<std::size_t>(1, call.in_place ? std::max(send, recv) : recv));
    send_.resize(std::max<std::size_t>(1, send));
  }

  void stage() override {
    const std::size_t recv = std::max(call_.counts.send, call_.counts.recv) * width_;
    if (call_.in_place) {
      copy(recv_.data(), call_.recv, recv, cudaMemcpyHostToDevice);
    } else {
      copy(send_.data(), call_.send, call_.counts.send * width_, cudaMemcpyHostToDevice);
      copy(recv_.data(), call_.recv, call_.counts.recv * width_, cudaMemcpyHostToDevice);
    }
  }

  void fetch() override {
    const bool moved = call_.in_place && call_.operation == Operation::kReduceScatter;
    const std::size_t bytes =
        (call_.in_place ? std::max(call_.counts.send, call_.counts.recv) : call_.counts.recv) *
        width_;
    if (moved) {
      // NCCL leaves a rank's part at its place, MPI at the beginning.
      copy(call_.recv, own(recv_.data()), call_.counts.part * width_, cudaMemcpyDeviceToHost);
    } else {
      copy(call_.recv, recv_.data(), bytes, cudaMemcpyDeviceToHost);
    }
  }

  void run() override {
    enqueue();
    check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  std::optional<double> run_timed(int times) override {
    check_cuda(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    for (int i = 0; i < times; ++i) enqueue();
    check_cuda(cudaEventRecord(end_, stream_), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e3;
  }

  void barrier() override { base_->barrier(); }
  void sum(std::vector<double>& values) override { base_->sum(values); }
  void max(std::vector<double>& values) override { base_->max(values); }
  void min(std::vector<double>& values) override { base_->min(values); }

 private:
  /// Ranks of a host take its GPUs in their order.
  void find_device() {
    seats_ = base_->seats();
    const Seat& own_seat = seats_[static_cast<std::size_t>(rank())];
    int before = 0;
    for (int other = 0; other < rank(); ++other)
      before += seats_[static_cast<std::size_t>(other)].host == own_seat.host ? 1 : 0;
    std::vector<double> missing = {before < device_count() ? 0.0 : 1.0};
    base_->max(missing);
    if (missing[0] > 0)
      throw Unsupported(
          "--fabric nccl: each rank needs a GPU of its own, and some host has more ranks than "
          "GPUs");
    check_cuda(cudaSetDevice(before), "cudaSetDevice");
    struct Device {
      int number;
      std::array<char, 32> bus;
      std::array<char, 252> model;
    };
    Device own{before, {}, {}};
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, before), "cudaGetDeviceProperties");
    check_cuda(cudaDeviceGetPCIBusId(own.bus.data(), static_cast<int>(own.bus.size()), before),
               "cudaDeviceGetPCIBusId");
    const std::string_view model(properties.name);
    std::copy_n(model.begin(), std::min(model.size(), own.model.size() - 1), own.model.begin());
    std::vector<Device> all(seats_.size());
    check_mpi(
        MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD),
        "MPI_Allgather");
    for (std::size_t i = 0; i < all.size(); ++i) {
      seats_[i].device = all[i].number;
      seats_[i].bus = all[i].bus.data();
      seats_[i].model = all[i].model.data();
    }
  }

  void make_operation() {
    switch (call_.reduction) {
      case Reduction::kSum:
        op_ = ncclSum;
        return;
      case Reduction::kProd:
        op_ = ncclProd;
        return;
      case Reduction::kMin:
        op_ = ncclMin;
        return;
      case Reduction::kMax:
        op_ = ncclMax;
        return;
      case Reduction::kAvg:
        op_ = ncclAvg;
        return;
      case Reduction::kMulSum: {
        alignas(8) std::array<char, 8> factor{};
        store(call_.type, factor.data(), 0, 1 + rank() % 2);
        check_nccl(
            ncclRedOpCreatePreMulSum(&op_, factor.data(), type_, ncclScalarHostImmediate, comm_),
            "ncclRedOpCreatePreMulSum");
        made_op_ = true;
        return;
      }
    }
  }

  void drop_operation() {
    if (made_op_) ncclRedOpDestroy(op_, comm_);
    made_op_ = false;
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream_), "cudaMemcpyAsync");
    if (kind != cudaMemcpyDeviceToDevice)
      check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  char* place(char* data, std::size_t elements) const { return data + elements * width_; }
  char* own(char* data) const {
    return place(data, call_.counts.part * static_cast<std::size_t>(rank()));
  }

  void begin_group() { check_nccl(ncclGroupStart(), "ncclGroupStart"); }
  void end_group() { check_nccl(ncclGroupEnd(), "ncclGroupEnd"); }
  void send_to(int peer, const char* data, std::size_t elements) {
    if (elements > 0) check_nccl(ncclSend(data, elements, type_, peer, comm_, stream_), "ncclSend");
  }
  void receive_from(int peer, char* data, std::size_t elements) {
    if (elements > 0) check_nccl(ncclRecv(data, elements, type_, peer, comm_, stream_), "ncclRecv");
  }

  /// What is sent must lie apart from what is received.
  char* sent_apart() {
    if (call_.in_place)
      copy(send_.data(), recv_.data(), call_.counts.send * width_, cudaMemcpyDeviceToDevice);
    return send_.data();
  }

  void enqueue() {
    const std::size_t part = call_.counts.part;
    char* recv = recv_.data();
    char* send = call_.in_place ? recv : send_.data();
    const int root = call_.root;
    switch (call_.operation) {
      case Operation::kAllReduce:
        check_nccl(ncclAllReduce(send, recv, part, type_, op_, comm_, stream_), "ncclAllReduce");
        return;
      case Operation::kReduce:
        check_nccl(ncclReduce(send, recv, part, type_, op_, root, comm_, stream_), "ncclReduce");
        return;
      case Operation::kReduceScatter:
        check_nccl(ncclReduceScatter(send, call_.in_place ? own(recv) : recv, part, type_, op_,
                                     comm_, stream_),
                   "ncclReduceScatter");
        return;
      case Operation::kAllGather:
        check_nccl(
            ncclAllGather(call_.in_place ? own(recv) : send, recv, part, type_, comm_, stream_),
            "ncclAllGather");
        return;
      case Operation::kBroadcast:
        check_nccl(ncclBroadcast(send, recv, part, type_, root, comm_, stream_), "ncclBroadcast");
        return;
      case Operation::kAllToAll:
        all_to_all(sent_apart(), recv);
        return;
      case Operation::kAllToAllV:
        all_to_all_v(sent_apart(), recv);
        return;
      case Operation::kGather:
        gather(call_.in_place ? own(recv) : send, recv);
        return;
      case Operation::kScatter:
        scatter(send, recv);
        return;
      case Operation::kSendRecv: {
        const char* from = sent_apart();
        begin_group();
        send_to((rank() + 1) % size(), from, part);
        receive_from((rank() + size() - 1) % size(), recv, part);
        end_group();
        return;
      }
      case Operation::kHypercube:
        hypercube(send, recv);
        return;
    }
  }

  void all_to_all(const char* send, char* recv) {
    const std::size_t part = call_.counts.part;
    begin_group();
    for (int peer = 0; peer < size(); ++peer) {
      const std::size_t at = part * static_cast<std::size_t>(peer) * width_;
      send_to(peer, send + at, part);
      receive_from(peer, recv + at, part);
    }
    end_group();
  }

  void all_to_all_v(const char* send, char* recv) {
    const std::size_t part = call_.counts.part;
    begin_group();
    for (int peer = 0; peer < size(); ++peer) {
      send_to(peer, send + offset_to(part, rank(), peer) * width_, part_to(part, rank(), peer));
      receive_from(peer, place(recv, offset_from(part, peer, rank())), part_to(part, peer, rank()));
    }
    end_group();
  }

  void gather(const char* send, char* recv) {
    const std::size_t part = call_.counts.part;
    const bool root = rank() == call_.root;
    begin_group();
    if (!(root && call_.in_place)) send_to(call_.root, send, part);
    for (int peer = 0; root && peer < size(); ++peer) {
      if (peer == rank() && call_.in_place) continue;
      receive_from(peer, place(recv, part * static_cast<std::size_t>(peer)), part);
    }
    end_group();
  }

  void scatter(const char* send, char* recv) {
    const std::size_t part = call_.counts.part;
    const bool root = rank() == call_.root;
    begin_group();
    for (int peer = 0; root && peer < size(); ++peer) {
      if (peer == rank() && call_.in_place) continue;
      send_to(peer, send + part * static_cast<std::size_t>(peer) * width_, part);
    }
    if (!(root && call_.in_place)) receive_from(call_.root, recv, part);
    end_group();
  }

  /// As the MPI fabric does it: everything gathered so far, to the rank that differs in one bit.
  void hypercube(const char* send, char* recv) {
    const std::size_t part = call_.counts.part;
    if (!call_.in_place) copy(own(recv), send, part * width_, cudaMemcpyDeviceToDevice);
    for (int bit = 1; bit < size(); bit *= 2) {
      const int peer = rank() ^ bit;
      const auto mine = static_cast<std::size_t>(rank() & ~(bit - 1)) * part;
      const auto theirs = static_cast<std::size_t>(peer & ~(bit - 1)) * part;
      begin_group();
      send_to(peer, place(recv, mine), part * static_cast<std::size_t>(bit));
      receive_from(peer, place(recv, theirs), part * static_cast<std::size_t>(bit));
      end_group();
    }
  }

  std::unique_ptr<Fabric> base_;
  std::vector<Seat> seats_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  Call call_;
  std::size_t width_ = 1;
  ncclDataType_t type_ = ncclFloat32;
  ncclRedOp_t op_ = ncclSum;
  bool made_op_ = false;
  DeviceBuffer send_, recv_;
};

}  // namespace

bool has_nccl() {
  return device_count() > 0;
}

std::unique_ptr<Fabric> connect_nccl(std::unique_ptr<Fabric> base) {
  return std::make_unique<NcclFabric>(std::move(base));
}

}  // namespace muster::measure
