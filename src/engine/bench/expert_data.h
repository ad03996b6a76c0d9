// The tokens of an expert-parallel exchange, what the experts make of them, and what must come out:
// crafted so that nearly everything is exact, and one wrong byte shows.
//
// A value is an integer of -7 to 7 times 2^0 to 2^3, the same power within a block of 128 channels,
// whose first value is 7 or -7: exact in bf16, and in f8e4m3 with the block's scale of largest/448.
// An expert multiplies by 1 or 2, a weight is 1/4 or 1/2: up to nine experts a token (28 units
// each, of the 256 that bf16 can count) every sum is exact, in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/bench/expert_routing.h"

namespace muster::measure {

constexpr int kScaleBlock = 128;  ///< channels that share an FP8 scale
constexpr int kExactChoices = 9;  ///< experts a token up to which all sums are exact in bf16

/// How a row lies in memory: payload, scales of FP8, experts (int32), weights (float32). In the
/// low-latency form a header comes first and there are no experts and weights.
struct RowForm {
  std::size_t header = 0;   ///< bytes before the payload
  std::size_t payload = 0;  ///< bytes
  std::size_t scales = 0;   ///< bytes
  std::size_t choices = 0;  ///< of experts and weights each: 0 or top-k
  std::size_t bytes() const {
    return header + payload + scales + choices * (sizeof(std::int32_t) + sizeof(float));
  }
  std::size_t scales_at() const { return header + payload; }
  std::size_t experts_at() const { return scales_at() + scales; }
  std::size_t weights_at() const { return experts_at() + choices * sizeof(std::int32_t); }
};

RowForm normal_row(const ExpertShape& shape);
/// DeepEP's message: 16 bytes that name the token, and its payload.
RowForm low_latency_row(const ExpertShape& shape);

/// The header of a low-latency row.
struct SlotHeader {
  std::int32_t token = 0;
  std::int32_t choice = 0;  ///< which of the token's top-k this is
  std::int32_t unused[2] = {};
};

/// The bf16 channels of a token.
void make_token(const ExpertShape& shape, unsigned seed, int rank, int token, std::uint16_t* out);
/// The same in f8e4m3, and the scales; from what make_token() is made of, not by a cast.
void make_token_fp8(const ExpertShape& shape, unsigned seed, int rank, int token, std::uint8_t* out,
                    float* scales);

/// A whole row of the normal form as `rank` sends it.
void make_row(const ExpertShape& shape, const Routing& routing, unsigned seed, int rank, int token,
              std::byte* out);

float expert_factor(int expert);

/// What the experts of [first, last) make of a row of the normal form that arrived: the weighted
/// sum of theirs, in bf16. The row says which they are.
void apply_experts(const ExpertShape& shape, int first, int last, const std::byte* row,
                   std::uint16_t* out);
/// What one expert makes of a low-latency row: not weighted, the source does that.
void apply_expert(const ExpertShape& shape, int expert, const std::byte* row, std::uint16_t* out);

/// Values (and scales, experts, weights) of a received row that are not what `due` says; 0: the
/// row is right, byte for byte. `scratch` is memory to work in.
std::size_t wrong_in_row(const ExpertShape& shape, const std::vector<Routing>& all, unsigned seed,
                         const Due& due, const std::byte* row, std::vector<std::byte>& scratch);

/// Of a combined token, values that are not the weighted sum over its experts as one rank alone
/// computes it. Exact up to kExactChoices experts; above, each of the three roundings on the way
/// (contribution, sum of a node, result) may miss by 2^-8 of the sum of all magnitudes.
std::size_t wrong_in_token(const ExpertShape& shape, const Routing& routing, unsigned seed,
                           int rank, int token, const std::uint16_t* combined,
                           std::vector<std::byte>& scratch);

}  // namespace muster::measure
