#include "engine/train/sampler.h"

#include <bit>
#include <stdexcept>

namespace muster::train {

namespace {

// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection of 64 bits that mixes well.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size) {
  const int bits = size <= 1 ? 1 : static_cast<int>(std::bit_width(size - 1));
  half_bits_ = (bits + 1) / 2;
  for (int round = 0; round < kRounds; ++round)
    keys_[round] = mix(key + static_cast<std::uint64_t>(round) * 0x632be59bd9b4e019ULL);
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  const std::uint64_t mask = (1ULL << half_bits_) - 1;
  std::uint64_t value = index;
  do {
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t next = left ^ (mix(right ^ key) & mask);
      left = right;
      right = next;
    }
    value = (left << half_bits_) | right;
  } while (value >= size_);
  return value;
}

Sampler::Sampler(SamplerOptions options) : options_(options) {
  const std::int64_t pass = options.micro_batch * options.world;
  if (options.windows == 0 || pass <= 0 || options.global_batch <= 0 ||
      options.global_batch % pass != 0) {
    throw std::invalid_argument(
        "sampler: the global batch must be a multiple of micro batch x world, over some windows");
  }
  accumulation_ = options.global_batch / pass;
}

std::uint64_t Sampler::draw(std::uint64_t index) const {
  const std::uint64_t epoch = index / options_.windows;
  return Permutation(options_.windows,
                     mix(options_.seed) ^ mix(epoch + 1))(index % options_.windows);
}

std::vector<std::uint64_t> Sampler::windows(std::int64_t step, std::int64_t micro) const {
  const std::int64_t first = step * options_.global_batch +
                             (micro * options_.world + options_.rank) * options_.micro_batch;
  std::vector<std::uint64_t> result;
  result.reserve(static_cast<std::size_t>(options_.micro_batch));
  for (std::int64_t i = 0; i < options_.micro_batch; ++i)
    result.push_back(draw(static_cast<std::uint64_t>(first + i)));
  return result;
}

}  // namespace muster::train
