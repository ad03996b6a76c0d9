// The communicator over c10d's NCCL, for tensors on CUDA devices. Operations run on a stream of
// their own, behind what the caller's stream holds when they start. wait() polls from the host, so
// that it has a limit and can say who is missing.
//
// NCCL adds in an order that depends only on the topology, so sums repeat. bfloat16 is summed in
// float32.
#include <unistd.h>

#include <thread>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include "engine/comm/c10d.h"
#include "engine/comm/c10d_compat.h"
#include "engine/comm/checked.h"
#include "engine/comm/rendezvous.h"

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace muster::comm {
namespace {

using Clock = std::chrono::steady_clock;

class NcclCommunicator;

class NcclWork : public Work {
 public:
  NcclWork(std::shared_ptr<NcclCommunicator> owner, Operation operation,
           std::vector<torch::Tensor> tensors)
      : owner_(std::move(owner)), operation_(std::move(operation)), tensors_(std::move(tensors)) {}
  bool test() override { return done.query(); }
  void wait() override;

  at::cuda::CUDAEvent done;

 private:
  std::shared_ptr<NcclCommunicator> owner_;
  Operation operation_;
  std::vector<torch::Tensor> tensors_;  // kept alive until the stream is through with them
};

c10d::ReduceOp::RedOpType nccl_op(Op op) {
  return op == Op::kSum   ? c10d::ReduceOp::SUM
         : op == Op::kMax ? c10d::ReduceOp::MAX
                          : c10d::ReduceOp::MIN;
}

class NcclCommunicator : public CheckedCommunicator,
                         public std::enable_shared_from_this<NcclCommunicator> {
 public:
  NcclCommunicator(Store store, Place place, const Options& options, torch::Device device)
      : CheckedCommunicator(place, options, device),
        store_(std::move(store)),
        board_(store_, place),
        stream_(at::cuda::getStreamFromPool(false, device.index())) {
    auto nccl_options = c10d::ProcessGroupNCCL::Options::create();
    // NCCL's own limit only ends a process that hangs without waiting.
    nccl_options->timeout = options.time_limit * 2 + std::chrono::seconds(60);
    group_ =
        c10::make_intrusive<c10d::ProcessGroupNCCL>(store_, place.rank, place.size, nccl_options);
  }

  std::string transport() const override { return "nccl"; }
  std::shared_ptr<Communicator> split(int colour) override {
    std::vector<Member> members = members_of_colour(colour);
    const Place part = renumber(members, rank());
    const Store store = c10::make_intrusive<c10d::PrefixStore>(
        fmt::format("split{}/{}", splits_++, colour), store_);
    auto communicator =
        std::make_shared<NcclCommunicator>(store, part, options_of_split(colour), device_);
    communicator->set_members(std::move(members));
    return communicator;
  }
  [[noreturn]] void abort(int exit_code) override { _exit(exit_code); }

  void wait(const Operation& operation, const at::cuda::CUDAEvent& done) {
    const auto start = Clock::now();
    const auto period = notice_period(options_.time_limit);
    auto next_notice = start + period;
    for (int polls = 0; !done.query(); ++polls) {
      if (polls < 1000) continue;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      const auto now = Clock::now();
      if (now > start + options_.time_limit) {
        const std::vector<bool> heard = board_.listen(notice_grace(options_.time_limit));
        if (done.query()) break;
        throw timeout(operation, heard);
      }
      if (now > next_notice) {
        board_.say();
        next_notice = now + period;
      }
    }
    wait_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
  }

 protected:
  Handle start_all_reduce(Operation operation, const torch::Tensor& out, const torch::Tensor& in,
                          const Reduction& how) override {
    return enqueue(std::move(operation), {out, in}, [&] {
      const bool narrow = out.scalar_type() == torch::kBFloat16;
      torch::Tensor sum = narrow ? in.to(torch::kFloat32) : out;
      if (!narrow && out.data_ptr() != in.data_ptr()) out.copy_(in);
      std::vector<torch::Tensor> tensors{sum};
      c10d::AllreduceOptions options;
      options.reduceOp = nccl_op(how.op);
      group_->allreduce(tensors, options)->wait();
      if (how.scale != 1.0) sum.mul_(how.scale);
      if (narrow) out.copy_(sum);
    });
  }

  Handle start_reduce_scatter(Operation operation, const torch::Tensor& out,
                              const torch::Tensor& in, const Reduction& how) override {
    return enqueue(std::move(operation), {out, in}, [&] {
      torch::Tensor sum;
      if (in.scalar_type() == torch::kBFloat16) {
        // Half the bytes travel; the sum is made here.
        torch::Tensor parts = torch::empty_like(in);
        exchange(parts, in, {}, {});
        parts = parts.view({size(), out.numel()});
        sum = parts[0].to(torch::kFloat32);
        for (int from = 1; from < size(); ++from) {
          if (how.op == Op::kSum)
            sum.add_(parts[from]);
          else
            sum = how.op == Op::kMax ? torch::maximum(sum, parts[from])
                                     : torch::minimum(sum, parts[from]);
        }
      } else {
        sum = torch::empty_like(out);
        torch::Tensor source = in;
        c10d::ReduceScatterOptions options;
        options.reduceOp = nccl_op(how.op);
        group_->_reduce_scatter_base(sum, source, options)->wait();
      }
      if (how.scale != 1.0) sum.mul_(how.scale);
      if (how.accumulate)
        out.add_(sum.view(out.sizes()));
      else
        out.copy_(sum.view(out.sizes()));
    });
  }

  Handle start_all_gather(Operation operation, const torch::Tensor& out,
                          const torch::Tensor& in) override {
    return enqueue(std::move(operation), {out, in}, [&] {
      torch::Tensor target = out;
      torch::Tensor source = in;
      group_->_allgather_base(target, source)->wait();
    });
  }

  Handle start_all_to_all(Operation operation, const torch::Tensor& out, const torch::Tensor& in,
                          const std::vector<std::int64_t>& out_counts,
                          const std::vector<std::int64_t>& in_counts) override {
    return enqueue(std::move(operation), {out, in},
                   [&] { exchange(out, in, out_counts, in_counts); });
  }

  Handle start_broadcast(Operation operation, const torch::Tensor& data, int root) override {
    return enqueue(std::move(operation), {data}, [&] {
      std::vector<torch::Tensor> tensors{data};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      group_->broadcast(tensors, options)->wait();
    });
  }

  Handle start_send(Operation operation, const torch::Tensor& data, int peer) override {
    return enqueue(std::move(operation), {data}, [&] {
      std::vector<torch::Tensor> tensors{data};
      group_->send(tensors, peer, 0)->wait();
    });
  }

  Handle start_recv(Operation operation, const torch::Tensor& data, int peer) override {
    return enqueue(std::move(operation), {data}, [&] {
      std::vector<torch::Tensor> tensors{data};
      group_->recv(tensors, peer, 0)->wait();
    });
  }

  Handle start_barrier(Operation operation) override {
    return start_all_reduce(std::move(operation), token_ = torch::ones({1}, device_), token_, {});
  }

 private:
  void exchange(torch::Tensor out, torch::Tensor in, std::vector<std::int64_t> out_counts,
                std::vector<std::int64_t> in_counts) {
    group_->alltoall_base(out, in, out_counts, in_counts)->wait();
  }

  template <typename Enqueue>
  Handle enqueue(Operation operation, std::vector<torch::Tensor> tensors, Enqueue enqueue) {
    auto work =
        std::make_shared<NcclWork>(shared_from_this(), std::move(operation), std::move(tensors));
    at::cuda::CUDAEvent ready;
    ready.record(at::cuda::getCurrentCUDAStream(device_.index()));
    const c10::cuda::CUDAStreamGuard guard(stream_);
    ready.block(stream_);
    enqueue();  // waits of c10d's only order the streams
    work->done.record(stream_);
    return work;
  }

  Store store_;
  WaitBoard board_;
  c10::cuda::CUDAStream stream_;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  torch::Tensor token_;
  int splits_ = 0;
};

void NcclWork::wait() {
  owner_->wait(operation_, done);
}

}  // namespace

std::shared_ptr<Communicator> connect_nccl(const Options& options, torch::Device device) {
  if (!device.is_cuda()) throw Error("NCCL needs a CUDA device");
  const Rendezvous where = rendezvous_from_environment();
  const Store store = meet(where, options.connect_limit);
  try {
    const torch::Device placed(torch::kCUDA,
                               device.has_index() ? device.index() : at::cuda::current_device());
    auto communicator = std::make_shared<NcclCommunicator>(store, where.place, options, placed);
    communicator->exchange_members();
    return communicator;
  } catch (const c10::Error& error) {
    throw Error(fmt::format("NCCL could not connect rank {}: {}", where.place.rank,
                            error.what_without_backtrace()));
  }
}

}  // namespace muster::comm
