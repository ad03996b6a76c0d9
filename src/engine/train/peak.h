// What this node can do at most: the measure of a run's speed.
#pragma once

#include <torch/types.h>

namespace muster::train {

struct Peak {
  double flops_per_second =
      0;  ///< of the best of some matrix products, with this process's threads
  double bytes_per_second =
      0;  ///< memory read and written by a pass over arrays larger than any cache
};

/// Measures products of `dtype` (float32 or bfloat16) and memory on a device; takes under a second.
/// On a CPU all ranks of a node should call it at the same time: they share its clock and its
/// memory.
Peak measure_peak(torch::ScalarType dtype, torch::Device device = torch::kCPU);

/// FLOP/s of one product [rows, inner] x [inner, columns] of `dtype` on the CPU, in the layout of a
/// linear layer's forward pass, the best of the tries made within `seconds`.
double measure_product(torch::ScalarType dtype, std::int64_t rows, std::int64_t inner,
                       std::int64_t columns, double seconds);

}  // namespace muster::train
