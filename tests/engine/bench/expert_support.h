// Shapes of expert-parallel exchanges for tests.
#pragma once

#include <algorithm>
#include <vector>

#include <rapidcheck.h>

#include "engine/bench/expert_routing.h"

namespace muster::measure {

inline ExpertShape plain_shape(int ranks, int tokens, int hidden, int top_k, int experts) {
  ExpertShape shape;
  shape.ranks = ranks;
  shape.tokens = tokens;
  shape.hidden = hidden;
  shape.top_k = top_k;
  shape.experts = experts;
  return shape;
}

/// Any small shape that make_plan() would let through.
inline ExpertShape some_shape() {
  const int nodes = *rc::gen::inRange(1, 4), locals = *rc::gen::inRange(1, 4);
  const int each = *rc::gen::inRange(1, 7);
  ExpertShape shape = plain_shape(nodes * locals, *rc::gen::inRange(1, 12),
                                  128 * *rc::gen::inRange(1, 3), 1, nodes * locals * each);
  shape.nodes = nodes;
  shape.groups = *rc::gen::inRange(1, nodes + 1);
  shape.top_k = *rc::gen::inRange(1, std::min(12, shape.groups * locals * each) + 1);
  shape.masked = *rc::gen::inRange(0, shape.tokens * shape.top_k + 1);
  shape.payload = *rc::gen::element(bench::Payload::kBf16, bench::Payload::kFp8);
  shape.skew.kind = *rc::gen::element(Skew::Kind::kUniform, Skew::Kind::kZipf,
                                      shape.experts > 1 ? Skew::Kind::kHot : Skew::Kind::kUniform);
  return shape;
}

inline std::vector<Routing> route_all(const ExpertShape& shape, unsigned seed) {
  std::vector<Routing> all;
  for (int rank = 0; rank < shape.ranks; ++rank) all.push_back(route(shape, rank, seed));
  return all;
}

}  // namespace muster::measure
