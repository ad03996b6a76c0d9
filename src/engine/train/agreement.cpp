#include "engine/train/agreement.h"

#include <torch/torch.h>

#include <future>

namespace muster::train {

namespace {

constexpr std::chrono::milliseconds kBeat{250};
constexpr std::chrono::milliseconds kFirstBeat{2};
constexpr std::chrono::hours kWorkLimit{6};

std::int64_t reduce(comm::Communicator& comm, std::int64_t mine, comm::Op op) {
  torch::Tensor value = torch::full({1}, mine, torch::kInt64).to(wire_device(comm));
  comm.all_reduce(value, op)->wait();
  return value.item<std::int64_t>();
}

}  // namespace

torch::Device wire_device(const comm::Communicator& comm) {
  return comm.transport() == "nccl" ? torch::Device(torch::kCUDA) : torch::Device(torch::kCPU);
}

torch::Tensor gather(comm::Communicator& comm, const torch::Tensor& mine) {
  const torch::Tensor in = mine.contiguous().to(wire_device(comm));
  torch::Tensor out = torch::empty({comm.size() * in.numel()}, in.options());
  comm.all_gather(out, in)->wait();
  return out.cpu();
}

torch::Tensor sum(comm::Communicator& comm, const torch::Tensor& mine) {
  torch::Tensor value = mine.clone().to(wire_device(comm));
  comm.all_reduce(value)->wait();
  return value.cpu();
}

std::int64_t largest(comm::Communicator& comm, std::int64_t mine) {
  return reduce(comm, mine, comm::Op::kMax);
}

std::int64_t from_first(comm::Communicator& comm, std::int64_t mine) {
  torch::Tensor value = torch::full({1}, mine, torch::kInt64).to(wire_device(comm));
  comm.broadcast(value, 0)->wait();
  return value.item<std::int64_t>();
}

bool wait_together(comm::Communicator& comm, std::chrono::seconds limit,
                   const std::function<bool(std::chrono::milliseconds)>& done_within) {
  const auto start = std::chrono::steady_clock::now();
  std::chrono::milliseconds beat = kFirstBeat;
  while (true) {
    const bool done = done_within(beat);
    const bool late = std::chrono::steady_clock::now() - start > limit;
    // 0: done; 1: not yet; 2: not yet, and the limit has passed.
    const std::int64_t worst = largest(comm, done ? 0 : (late ? 2 : 1));
    if (worst == 0) return true;
    if (worst == 2) return false;
    beat = std::min(2 * beat, kBeat);
    if (done) std::this_thread::sleep_for(beat / 2);  // the others wait longer: no need to hurry
  }
}

void work_together(comm::Communicator& comm, const std::function<void()>& work) {
  auto result = std::async(std::launch::async, work);
  wait_together(comm, kWorkLimit, [&](std::chrono::milliseconds time) {
    return result.wait_for(time) == std::future_status::ready;
  });
  result.get();
}

}  // namespace muster::train
