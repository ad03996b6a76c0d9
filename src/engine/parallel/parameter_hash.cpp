#include "engine/parallel/parameter_hash.h"

#include <bit>

#include <fmt/format.h>

namespace muster::parallel {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit moves every output bit.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// FNV-1a, then mixed.
std::uint64_t seed_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return mix(hash);
}

}  // namespace

void add_to_hash(PartialHash& sum, std::string_view name, const float* values, std::int64_t first,
                 std::int64_t count) {
  const std::uint64_t seed = seed_of(name);
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t place =
        (seed + static_cast<std::uint64_t>(first + i)) * 0x9e3779b97f4a7c15U;
    const std::uint64_t mixed =
        mix(place ^ (static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(values[i])) << 17));
    left += mixed;
    right += mix(mixed + place);
  }
  sum[0] += left;
  sum[1] += right;
}

std::string to_string(const PartialHash& sum) {
  return fmt::format("{:016x}{:016x}", sum[0], sum[1]);
}

}  // namespace muster::parallel
