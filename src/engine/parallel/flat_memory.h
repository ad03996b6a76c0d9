// Flat tensors whose memory comes and goes while views of them stay valid: how a unit's parameters
// are released and gathered again under tensors that modules and autograd hold.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include <torch/types.h>

namespace muster::parallel {

/// Memory that is not in use, by size: units of one model mostly have few sizes.
class MemoryPool {
 public:
  explicit MemoryPool(torch::Device device) : device_(device) {}
  at::DataPtr take(std::size_t bytes);
  void give(at::DataPtr memory, std::size_t bytes);

 private:
  torch::Device device_;
  std::map<std::size_t, std::vector<at::DataPtr>> free_;
};

/// A flat tensor; while it is detached, touching it or its views is an error that is not checked.
class FlatTensor {
 public:
  FlatTensor() = default;
  /// Detached.
  FlatTensor(std::int64_t elements, torch::ScalarType type, torch::Device device);

  const torch::Tensor& tensor() const { return tensor_; }
  bool defined() const { return tensor_.defined(); }
  bool attached() const { return attached_; }
  /// The memory is not initialised.
  void attach(MemoryPool& pool);
  void detach(MemoryPool& pool);

 private:
  std::size_t bytes() const;

  torch::Tensor tensor_;
  bool attached_ = false;
};

}  // namespace muster::parallel
