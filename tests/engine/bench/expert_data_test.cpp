#include "engine/bench/expert_data.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "engine/bench/data_type.h"
#include "engine/bench/expert_kernels.h"
#include "engine/bench/expert_support.h"

namespace muster::measure {
namespace {

std::size_t size(int value) {
  return static_cast<std::size_t>(value);
}

std::vector<std::byte> low_latency_row_of(const ExpertShape& shape, unsigned seed, const Due& due) {
  const RowForm form = low_latency_row(shape);
  std::vector<std::byte> row(form.bytes());
  const SlotHeader header{due.token, due.choice, {}};
  std::memcpy(row.data(), &header, sizeof header);
  std::vector<std::uint16_t> channels(size(shape.hidden));
  make_token(shape, seed, due.source, due.token, channels.data());
  if (shape.payload == bench::Payload::kBf16) {
    std::memcpy(row.data() + form.header, channels.data(), form.payload);
  } else {
    cast_to_fp8(channels.data(), channels.size(),
                reinterpret_cast<std::uint8_t*>(row.data() + form.header),
                reinterpret_cast<float*>(row.data() + form.scales_at()));
  }
  return row;
}

/// What each rank's experts make of a token, by rank; in the normal form.
std::vector<std::vector<std::uint16_t>> contributions(const ExpertShape& shape,
                                                      const Routing& routing, unsigned seed,
                                                      int rank, int token) {
  std::vector<std::byte> row(normal_row(shape).bytes());
  make_row(shape, routing, seed, rank, token, row.data());
  std::vector<std::vector<std::uint16_t>> all;
  for (int to = 0; to < shape.ranks; ++to) {
    const int first = to * shape.experts_per_rank(), last = first + shape.experts_per_rank();
    if (!touches(routing.experts_of(token), shape.top_k, first, last)) continue;
    all.emplace_back(size(shape.hidden));
    apply_experts(shape, first, last, row.data(), all.back().data());
  }
  return all;
}

std::vector<std::uint16_t> sum_of(const std::vector<std::vector<std::uint16_t>>& rows,
                                  std::size_t channels) {
  std::vector<const std::uint16_t*> pointers;
  for (const auto& row : rows) pointers.push_back(row.data());
  std::vector<std::uint16_t> out(channels);
  sum_rows(pointers.data(), static_cast<int>(pointers.size()), channels, out.data());
  return out;
}

TEST(ExpertKernels, Fp8IsTheElementTypeOfTheCollectives) {
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7f) == 0x7f) continue;  // NaN
    const auto byte = static_cast<std::uint8_t>(code);
    EXPECT_EQ(fp8_to_float(byte), static_cast<float>(load(DataType::kFloat8E4m3, &byte, 0)));
    EXPECT_EQ(float_to_fp8(fp8_to_float(byte)), byte) << code;
  }
}

RC_GTEST_PROP(ExpertKernels, FloatsRoundToFp8AsTheCollectivesDo, ()) {
  const float value = static_cast<float>(*rc::gen::inRange(-460000, 460001)) *
                      *rc::gen::element(1e-3F, 1e-5F, 1e-7F);
  std::uint8_t wanted = 0;
  store(DataType::kFloat8E4m3, &wanted, 0, value);
  RC_ASSERT(float_to_fp8(value) == wanted);
}

RC_GTEST_PROP(ExpertKernels, ACastIsTheRoundedQuotientByTheScale, ()) {
  std::vector<std::uint16_t> row(128 * *rc::gen::inRange<std::size_t>(1, 4));
  const float unit = *rc::gen::element(0.0F, 1e-6F, 1.0F, 3e4F);
  for (auto& value : row)
    value = float_to_bf16(static_cast<float>(*rc::gen::inRange(-1000, 1001)) * unit);
  std::vector<std::uint8_t> out(row.size());
  std::vector<float> scales(row.size() / 128);
  cast_to_fp8(row.data(), row.size(), out.data(), scales.data());
  for (std::size_t block = 0; block < scales.size(); ++block) {
    float most = 1e-4F;
    for (std::size_t c = block * 128; c < block * 128 + 128; ++c)
      most = std::max(most, std::fabs(bf16_to_float(row[c])));
    RC_ASSERT(scales[block] == most / 448);
    for (std::size_t c = block * 128; c < block * 128 + 128; ++c)
      RC_ASSERT(out[c] == float_to_fp8(bf16_to_float(row[c]) * (448 / most)));
  }
}

RC_GTEST_PROP(ExpertKernels, RowsAreSummedInFloat32AndRoundedOnce, ()) {
  const auto channels = *rc::gen::inRange<std::size_t>(1, 2500);
  const int count = *rc::gen::inRange(0, 5);
  std::vector<std::vector<std::uint16_t>> rows(size(count));
  std::vector<const std::uint16_t*> pointers;
  std::vector<float> weights;
  const unsigned seed = *rc::gen::arbitrary<unsigned>();
  for (int i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < channels; ++c)
      rows[size(i)].push_back(
          float_to_bf16(std::sin(static_cast<float>(seed % 97 + c) * static_cast<float>(i + 1))));
    pointers.push_back(rows[size(i)].data());
    weights.push_back(0.25F * static_cast<float>(i + 1));
  }
  std::vector<std::uint16_t> sum(channels), weighed(channels);
  sum_rows(pointers.data(), count, channels, sum.data());
  weigh_rows(pointers.data(), weights.data(), count, channels, weighed.data());
  for (std::size_t c = 0; c < channels; ++c) {
    float plain = 0, heavy = 0;
    for (int i = 0; i < count; ++i) {
      plain += bf16_to_float(rows[size(i)][c]);
      heavy += weights[size(i)] * bf16_to_float(rows[size(i)][c]);
    }
    RC_ASSERT(sum[c] == float_to_bf16(plain));
    RC_ASSERT(weighed[c] == float_to_bf16(heavy));
  }
}

RC_GTEST_PROP(ExpertData, TheFp8TokenIsTheCastOfTheBf16Token, ()) {
  const ExpertShape shape = some_shape();
  const unsigned seed = *rc::gen::arbitrary<unsigned>();
  std::vector<std::uint16_t> channels(size(shape.hidden));
  std::vector<std::uint8_t> made(channels.size()), cast(channels.size());
  std::vector<float> made_scales(channels.size() / 128), cast_scales(channels.size() / 128);
  make_token(shape, seed, 1, 2, channels.data());
  make_token_fp8(shape, seed, 1, 2, made.data(), made_scales.data());
  cast_to_fp8(channels.data(), channels.size(), cast.data(), cast_scales.data());
  RC_ASSERT(made == cast);
  RC_ASSERT(made_scales == cast_scales);
}

RC_GTEST_PROP(ExpertData, WhatASingleRankComputesIsWhatTheRanksSumUpTo, ()) {
  const ExpertShape shape = some_shape();
  const unsigned seed = *rc::gen::arbitrary<unsigned>();
  std::vector<std::byte> scratch;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const Routing routing = route(shape, rank, seed);
    for (int token = 0; token < shape.tokens; ++token) {
      auto rows = contributions(shape, routing, seed, rank, token);
      const auto whole = sum_of(rows, size(shape.hidden));
      RC_ASSERT(wrong_in_token(shape, routing, seed, rank, token, whole.data(), scratch) == 0U);
      if (rows.empty()) continue;
      rows.pop_back();  // one rank's contribution is lost
      const auto less = sum_of(rows, size(shape.hidden));
      RC_ASSERT(wrong_in_token(shape, routing, seed, rank, token, less.data(), scratch) > 0U);
    }
  }
}

RC_GTEST_PROP(ExpertData, AWrongBitOfARowIsFoundOnEveryRank, ()) {
  const ExpertShape shape = some_shape();
  const unsigned seed = *rc::gen::arbitrary<unsigned>();
  const auto all = route_all(shape, seed);
  std::vector<std::byte> scratch;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto due = due_rows(shape, all, rank);
    const auto slots = due_slots(shape, all, rank);
    due.insert(due.end(), slots.begin(), slots.end());
    if (due.empty()) continue;
    const Due& one = due[*rc::gen::inRange<std::size_t>(0, due.size())];
    std::vector<std::byte> row(normal_row(shape).bytes());
    if (one.expert < 0) {
      make_row(shape, all[size(one.source)], seed, one.source, one.token, row.data());
    } else {
      row = low_latency_row_of(shape, seed, one);
    }
    RC_ASSERT(wrong_in_row(shape, all, seed, one, row.data(), scratch) == 0U);
    const auto bit = *rc::gen::inRange<std::size_t>(0, row.size() * 8);
    row[bit / 8] ^= std::byte{1} << (bit % 8);
    RC_ASSERT(wrong_in_row(shape, all, seed, one, row.data(), scratch) == 1U);
  }
}

RC_GTEST_PROP(ExpertData, AWrongBitOfASumIsFoundOnEveryRank, ()) {
  ExpertShape shape = some_shape();
  shape.top_k = std::min(shape.top_k, kExactChoices);
  shape.masked = std::min(shape.masked, shape.tokens * shape.top_k);
  const unsigned seed = *rc::gen::arbitrary<unsigned>();
  std::vector<std::byte> scratch;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const Routing routing = route(shape, rank, seed);
    const int token = *rc::gen::inRange(0, shape.tokens);
    auto sum = sum_of(contributions(shape, routing, seed, rank, token), size(shape.hidden));
    const auto channel = *rc::gen::inRange<std::size_t>(0, sum.size());
    sum[channel] ^= static_cast<std::uint16_t>(1U << *rc::gen::inRange(0, 16));
    RC_ASSERT(wrong_in_token(shape, routing, seed, rank, token, sum.data(), scratch) == 1U);
  }
}

RC_GTEST_PROP(ExpertData, LowLatencyResultsWeighUpToTheSame, ()) {
  const ExpertShape shape = some_shape();
  const unsigned seed = *rc::gen::arbitrary<unsigned>();
  const auto all = route_all(shape, seed);
  std::vector<std::byte> scratch;
  for (int token = 0; token < shape.tokens; ++token) {
    std::vector<std::vector<std::uint16_t>> results;
    std::vector<float> weights;
    for (int k = 0; k < shape.top_k; ++k) {
      const int expert = all[0].experts_of(token)[k];
      if (expert < 0) continue;
      const auto row = low_latency_row_of(shape, seed, {0, token, expert, k});
      results.emplace_back(size(shape.hidden));
      apply_expert(shape, expert, row.data(), results.back().data());
      weights.push_back(all[0].weights_of(token)[k]);
    }
    std::vector<const std::uint16_t*> rows;
    for (const auto& result : results) rows.push_back(result.data());
    std::vector<std::uint16_t> sum(size(shape.hidden));
    weigh_rows(rows.data(), weights.data(), static_cast<int>(rows.size()), sum.size(), sum.data());
    RC_ASSERT(wrong_in_token(shape, all[0], seed, 0, token, sum.data(), scratch) == 0U);
  }
}

}  // namespace
}  // namespace muster::measure
