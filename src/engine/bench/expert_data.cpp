#include "engine/bench/expert_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/bench/expert_kernels.h"
#include "engine/bench/mix.h"

namespace muster::measure {
namespace {

constexpr int kLargest = 7;
constexpr float kFp8Most = 448;

std::size_t width(const ExpertShape& shape) {
  return static_cast<std::size_t>(shape.hidden);
}

/// One token's values: integer(c) * 2^power(c / 128).
class Values {
 public:
  Values(unsigned seed, int rank, int token)
      : random_(mix(seed ^ 0x5eed0000ULL, static_cast<std::uint64_t>(rank),
                    static_cast<std::uint64_t>(token))) {}

  int integer(std::size_t channel) const {
    auto bits =
        static_cast<std::uint32_t>(random_) + static_cast<std::uint32_t>(channel) * 0x9e3779b1U;
    bits = (bits ^ (bits >> 15)) * 0x85ebca6bU;
    const int value = std::min(static_cast<int>(bits >> 28), 2 * kLargest) - kLargest;
    if (channel % kScaleBlock != 0) return value;
    return value < 0 ? -kLargest : kLargest;
  }
  int power(std::size_t block) const { return static_cast<int>(scramble(random_ + block) >> 62); }
  float factor(std::size_t block) const { return static_cast<float>(1 << power(block)); }

 private:
  std::uint64_t random_;
};

/// Sum of weight times factor over the token's experts of [first, last).
float weighted(const std::int32_t* experts, const float* weights, std::size_t choices, int first,
               int last) {
  float sum = 0;
  for (std::size_t k = 0; k < choices; ++k) {
    if (experts[k] >= first && experts[k] < last) sum += weights[k] * expert_factor(experts[k]);
  }
  return sum;
}

/// A received payload in float32.
void decode(const ExpertShape& shape, const std::byte* payload, const std::byte* scales,
            float* out) {
  if (shape.payload == bench::Payload::kBf16) {
    const auto* values = reinterpret_cast<const std::uint16_t*>(payload);
    for (std::size_t c = 0; c < width(shape); ++c) out[c] = bf16_to_float(values[c]);
    return;
  }
  const auto* values = reinterpret_cast<const std::uint8_t*>(payload);
  for (std::size_t block = 0; block < width(shape) / kScaleBlock; ++block) {
    float scale = 0;
    std::memcpy(&scale, scales + block * sizeof scale, sizeof scale);
    for (std::size_t c = block * kScaleBlock; c < (block + 1) * kScaleBlock; ++c)
      out[c] = fp8_to_float(values[c]) * scale;
  }
}

RowForm form_of(const ExpertShape& shape) {
  RowForm form;
  const bool fp8 = shape.payload == bench::Payload::kFp8;
  form.payload = width(shape) * (fp8 ? 1 : 2);
  form.scales = fp8 ? width(shape) / kScaleBlock * sizeof(float) : 0;
  return form;
}

template <typename T>
std::size_t count_unlike(const std::byte* a, const std::byte* b, std::size_t bytes) {
  std::size_t unlike = 0;
  for (std::size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T))
    unlike += std::memcmp(a + at, b + at, sizeof(T)) != 0 ? 1 : 0;
  return unlike;
}

}  // namespace

RowForm normal_row(const ExpertShape& shape) {
  RowForm form = form_of(shape);
  form.choices = static_cast<std::size_t>(shape.top_k);
  return form;
}

RowForm low_latency_row(const ExpertShape& shape) {
  RowForm form = form_of(shape);
  form.header = sizeof(SlotHeader);
  return form;
}

void make_token(const ExpertShape& shape, unsigned seed, int rank, int token, std::uint16_t* out) {
  const Values values(seed, rank, token);
  for (std::size_t block = 0; block < width(shape) / kScaleBlock; ++block) {
    const float factor = values.factor(block);
    for (std::size_t c = block * kScaleBlock; c < (block + 1) * kScaleBlock; ++c)
      out[c] = float_to_bf16(static_cast<float>(values.integer(c)) * factor);
  }
}

void make_token_fp8(const ExpertShape& shape, unsigned seed, int rank, int token, std::uint8_t* out,
                    float* scales) {
  // value / scale = integer * 448 / 7: 64 times the integer, whatever the power of two.
  static const auto kCodes = [] {
    std::array<std::uint8_t, 2 * kLargest + 1> codes{};
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes[i] = float_to_fp8((static_cast<float>(i) - kLargest) * kFp8Most / kLargest);
    return codes;
  }();
  const Values values(seed, rank, token);
  for (std::size_t block = 0; block < width(shape) / kScaleBlock; ++block) {
    scales[block] = kLargest * values.factor(block) / kFp8Most;
    for (std::size_t c = block * kScaleBlock; c < (block + 1) * kScaleBlock; ++c)
      out[c] = kCodes[static_cast<unsigned>(values.integer(c) + kLargest)];
  }
}

void make_row(const ExpertShape& shape, const Routing& routing, unsigned seed, int rank, int token,
              std::byte* out) {
  const RowForm form = normal_row(shape);
  if (shape.payload == bench::Payload::kBf16) {
    make_token(shape, seed, rank, token, reinterpret_cast<std::uint16_t*>(out));
  } else {
    make_token_fp8(shape, seed, rank, token, reinterpret_cast<std::uint8_t*>(out),
                   reinterpret_cast<float*>(out + form.scales_at()));
  }
  std::memcpy(out + form.experts_at(), routing.experts_of(token),
              form.choices * sizeof(std::int32_t));
  std::memcpy(out + form.weights_at(), routing.weights_of(token), form.choices * sizeof(float));
}

float expert_factor(int expert) {
  return (scramble(static_cast<std::uint64_t>(expert)) & 1) != 0 ? 2.0F : 1.0F;
}

void apply_experts(const ExpertShape& shape, int first, int last, const std::byte* row,
                   std::uint16_t* out) {
  const RowForm form = normal_row(shape);
  std::vector<float> values(width(shape));
  decode(shape, row, row + form.scales_at(), values.data());
  const float sum =
      weighted(reinterpret_cast<const std::int32_t*>(row + form.experts_at()),
               reinterpret_cast<const float*>(row + form.weights_at()), form.choices, first, last);
  for (std::size_t c = 0; c < values.size(); ++c) out[c] = float_to_bf16(values[c] * sum);
}

void apply_expert(const ExpertShape& shape, int expert, const std::byte* row, std::uint16_t* out) {
  const RowForm form = low_latency_row(shape);
  std::vector<float> values(width(shape));
  decode(shape, row + form.header, row + form.scales_at(), values.data());
  for (std::size_t c = 0; c < values.size(); ++c)
    out[c] = float_to_bf16(values[c] * expert_factor(expert));
}

std::size_t wrong_in_row(const ExpertShape& shape, const std::vector<Routing>& all, unsigned seed,
                         const Due& due, const std::byte* row, std::vector<std::byte>& scratch) {
  const bool slot = due.expert >= 0;
  const RowForm form = slot ? low_latency_row(shape) : normal_row(shape);
  scratch.assign(form.bytes(), std::byte{0});
  if (slot) {
    const SlotHeader header{due.token, due.choice, {}};
    std::memcpy(scratch.data(), &header, sizeof header);
    if (shape.payload == bench::Payload::kBf16) {
      make_token(shape, seed, due.source, due.token,
                 reinterpret_cast<std::uint16_t*>(scratch.data() + form.header));
    } else {
      make_token_fp8(shape, seed, due.source, due.token,
                     reinterpret_cast<std::uint8_t*>(scratch.data() + form.header),
                     reinterpret_cast<float*>(scratch.data() + form.scales_at()));
    }
  } else {
    make_row(shape, all[static_cast<std::size_t>(due.source)], seed, due.source, due.token,
             scratch.data());
  }
  if (std::memcmp(scratch.data(), row, form.bytes()) == 0) return 0;
  const std::byte* right = scratch.data();
  std::size_t wrong = count_unlike<std::int32_t>(right, row, form.header);
  wrong += shape.payload == bench::Payload::kBf16
               ? count_unlike<std::uint16_t>(right + form.header, row + form.header, form.payload)
               : count_unlike<std::uint8_t>(right + form.header, row + form.header, form.payload);
  wrong += count_unlike<std::int32_t>(right + form.scales_at(), row + form.scales_at(),
                                      form.bytes() - form.scales_at());
  return wrong;
}

std::size_t wrong_in_token(const ExpertShape& shape, const Routing& routing, unsigned seed,
                           int rank, int token, const std::uint16_t* combined,
                           std::vector<std::byte>& scratch) {
  scratch.resize(width(shape) * sizeof(std::uint16_t));
  auto* values = reinterpret_cast<std::uint16_t*>(scratch.data());
  make_token(shape, seed, rank, token, values);
  const int* experts = routing.experts_of(token);
  const float sum = weighted(experts, routing.weights_of(token),
                             static_cast<std::size_t>(routing.top_k), 0, shape.experts);
  const auto valid = std::count_if(experts, experts + routing.top_k, [](int e) { return e >= 0; });
  std::size_t wrong = 0;
  for (std::size_t c = 0; c < width(shape); ++c) {
    const float right = bf16_to_float(values[c]) * sum + 0.0F;  // of no expert: 0, never -0
    if (valid <= kExactChoices) {
      wrong += combined[c] == float_to_bf16(right) ? 0 : 1;
      continue;
    }
    // All terms of a channel have one sign: the sum of their magnitudes is that of the sum.
    const float difference = std::fabs(bf16_to_float(combined[c]) - right);
    wrong += difference <= 3 * 0x1p-8F * std::fabs(right) ? 0 : 1;  // NaN is wrong
  }
  return wrong;
}

}  // namespace muster::measure
