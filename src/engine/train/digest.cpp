#include "engine/train/digest.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace muster::train {

struct Digest::State {
  XXH3_state_t xxh;
};

Digest::Digest() : state_(new State) {
  XXH3_128bits_reset(&state_->xxh);
}
Digest::~Digest() = default;

void Digest::update(const void* data, std::size_t bytes) {
  if (bytes > 0) XXH3_128bits_update(&state_->xxh, data, bytes);
}

namespace {
std::string to_hex(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}
}  // namespace

std::string Digest::hex() const {
  return to_hex(XXH3_128bits_digest(&state_->xxh));
}

std::string digest(const void* data, std::size_t bytes) {
  return to_hex(XXH3_128bits(data, bytes));
}

std::uint64_t digest64(const void* data, std::size_t bytes) {
  return XXH3_64bits(data, bytes);
}

}  // namespace muster::train
