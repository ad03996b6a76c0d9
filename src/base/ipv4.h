// IPv4 address blocks: parsing, overlap and splitting, for address plans.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A block as CIDR notation writes it. The address has no bit below the prefix.
struct Ipv4Block {
  std::uint32_t address = 0;
  int prefix = 0;  ///< 0…32

  std::uint64_t size() const { return std::uint64_t{1} << (32 - prefix); }
  bool contains(const Ipv4Block& other) const;
  bool overlaps(const Ipv4Block& other) const;

  bool operator==(const Ipv4Block&) const = default;
};

/// "10.0.0.0/16"; nothing when it is not of that form or when bits below the prefix are set.
std::optional<Ipv4Block> parse_ipv4_block(std::string_view text);

/// "10.0.0.0/16".
std::string to_string(const Ipv4Block& block);

/// Whether the block lies in a range that RFC 1918 or RFC 6598 sets aside for private networks.
bool is_private(const Ipv4Block& block);

/// Blocks of `prefix` within `whole`, in order of address, that overlap none of `taken`, at most
/// `count`. Fewer when there is no room.
std::vector<Ipv4Block> free_blocks(const Ipv4Block& whole, int prefix, std::size_t count,
                                   const std::vector<Ipv4Block>& taken);

}  // namespace muster
