// What one rank of this node can do at most: `node_peak [ROWSxINNERxCOLUMNS…]` prints, as JSON, the
// peaks of matrix products in both types, the rate of each product named (bfloat16, the layout of a
// linear layer) and the memory's.
#include <cstdio>
#include <iostream>

#include <torch/torch.h>
#include <nlohmann/json.hpp>

#include "engine/model/ops_vector.h"
#include "engine/train/peak.h"

int main(int argc, char** argv) {
  using namespace muster;
  torch::set_num_threads(1);
  const auto half = train::measure_peak(torch::kBFloat16);
  const auto wide = train::measure_peak(torch::kFloat32);
  nlohmann::json result = {
      {"bf16_flops_per_second", half.flops_per_second},
      {"fp32_flops_per_second", wide.flops_per_second},
      {"bytes_per_second", std::max(half.bytes_per_second, wide.bytes_per_second)},
      {"vector_loops", model::vector_kernels().name},
      {"products", nlohmann::json::object()}};
  for (int i = 1; i < argc; ++i) {
    long rows = 0, inner = 0, columns = 0;
    if (std::sscanf(argv[i], "%ldx%ldx%ld", &rows, &inner, &columns) != 3 || rows < 1 ||
        inner < 1 || columns < 1) {
      std::cerr << "node_peak: not ROWSxINNERxCOLUMNS: " << argv[i] << '\n';
      return 1;
    }
    result["products"][argv[i]] =
        train::measure_product(torch::kBFloat16, rows, inner, columns, 0.3);
  }
  std::cout << result.dump() << '\n';
  return 0;
}
