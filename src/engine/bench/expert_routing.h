// Which experts each token goes to, and what follows from it: rows for each rank, and the bytes
// that the public benchmarks count.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/bench/expert_shape.h"

namespace muster::measure {

/// The router's choice for one rank's tokens.
struct Routing {
  int top_k = 0;
  std::vector<int> experts;    ///< tokens x top_k; -1: void
  std::vector<float> weights;  ///< tokens x top_k: 1/4 or 1/2

  int tokens() const { return top_k > 0 ? static_cast<int>(experts.size()) / top_k : 0; }
  const int* experts_of(int token) const { return experts.data() + at(token); }
  const float* weights_of(int token) const { return weights.data() + at(token); }

 private:
  std::size_t at(int token) const {
    return static_cast<std::size_t>(token) * static_cast<std::size_t>(top_k);
  }
};

/// The same on every rank that asks: a function of shape, seed and rank.
Routing route(const ExpertShape& shape, int rank, unsigned seed);

/// True when one of the experts is of [first, last).
bool touches(const int* experts, int top_k, int first, int last);

/// A row that a rank must receive.
struct Due {
  int source = 0;
  int token = 0;
  int expert = -1;  ///< low-latency: whose slot; normal: -1, a rank gets a token once
  int choice = -1;  ///< low-latency: which of the token's top-k it is
};

/// Normal form: the rows for `rank`, by source rank and token. `all`: the routings of all ranks.
std::vector<Due> due_rows(const ExpertShape& shape, const std::vector<Routing>& all, int rank);
/// Low-latency form: by expert, source rank and token.
std::vector<Due> due_slots(const ExpertShape& shape, const std::vector<Routing>& all, int rank);

/// The bytes of one rank, as DeepEP counts them.
struct Account {
  double rows = 0;    ///< received; of low-latency sent: one for each selection
  double local = 0;   ///< "NVL": what it receives, by rows
  double across = 0;  ///< "RDMA": its tokens, once for each node they touch, its own too
  double slots = 0;   ///< low-latency: its selections
};
Account account_dispatch(const ExpertShape& shape, const std::vector<Routing>& all,
                         const Placement& placement, int rank, bool low_latency);
Account account_combine(const ExpertShape& shape, const std::vector<Routing>& all,
                        const Placement& placement, int rank, bool low_latency);

}  // namespace muster::measure
