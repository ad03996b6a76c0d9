// The checksum of everything the trainer writes: XXH3, 128 bits, as `xxhsum -H128` prints it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace muster::train {

/// Feeds bytes in pieces; the hash of the whole as 32 hexadecimal digits.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void update(const void* data, std::size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  /// May be called more than once; more bytes may follow.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The digest of one piece.
std::string digest(const void* data, std::size_t bytes);
inline std::string digest(std::string_view text) {
  return digest(text.data(), text.size());
}

/// 64 bits of XXH3, for small blocks inside files.
std::uint64_t digest64(const void* data, std::size_t bytes);

}  // namespace muster::train
