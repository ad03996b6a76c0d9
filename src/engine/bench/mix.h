// Numbers that look random and are the same on every rank that asks for them.
#pragma once

#include <cstdint>

namespace muster::measure {

/// splitmix64's finaliser: every bit of the input bears on every bit of the output.
inline std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return scramble(scramble(scramble(a) ^ b) ^ c);
}

}  // namespace muster::measure
