#include "engine/parallel/flat_memory.h"

#include <torch/torch.h>

namespace muster::parallel {

at::DataPtr MemoryPool::take(std::size_t bytes) {
  std::vector<at::DataPtr>& pieces = free_[bytes];
  if (pieces.empty()) return c10::GetAllocator(device_.type())->allocate(bytes);
  at::DataPtr memory = std::move(pieces.back());
  pieces.pop_back();
  return memory;
}

void MemoryPool::give(at::DataPtr memory, std::size_t bytes) {
  free_[bytes].push_back(std::move(memory));
}

FlatTensor::FlatTensor(std::int64_t elements, torch::ScalarType type, torch::Device device)
    : tensor_(torch::empty({elements}, torch::TensorOptions().dtype(type).device(device))) {
  // The storage keeps its size, so that views can be made; only the memory goes.
  tensor_.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(at::DataPtr(nullptr, device));
}

std::size_t FlatTensor::bytes() const {
  return static_cast<std::size_t>(tensor_.numel()) * tensor_.element_size();
}

void FlatTensor::attach(MemoryPool& pool) {
  if (attached_) return;
  tensor_.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(pool.take(bytes()));
  attached_ = true;
}

void FlatTensor::detach(MemoryPool& pool) {
  if (!attached_) return;
  pool.give(tensor_.storage().unsafeGetStorageImpl()->set_data_ptr(
                at::DataPtr(nullptr, tensor_.device())),
            bytes());
  attached_ = false;
}

}  // namespace muster::parallel
