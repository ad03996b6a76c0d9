#include "base/ipv4.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace muster {
namespace {

constexpr int kBits = 32;

std::uint32_t mask_of(int prefix) {
  return prefix == 0 ? 0 : ~std::uint32_t{0} << (kBits - prefix);
}

/// A decimal number without sign or leading zero, taken off the front of `text`.
std::optional<int> take_number(std::string_view& text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || value > most || text.front() == '-' ||
      (length > 1 && text.front() == '0'))
    return std::nullopt;
  text.remove_prefix(length);
  return value;
}

}  // namespace

bool Ipv4Block::contains(const Ipv4Block& other) const {
  return prefix <= other.prefix && (other.address & mask_of(prefix)) == address;
}

bool Ipv4Block::overlaps(const Ipv4Block& other) const {
  return contains(other) || other.contains(*this);
}

std::optional<Ipv4Block> parse_ipv4_block(std::string_view text) {
  Ipv4Block block;
  for (int part = 0; part < 4; ++part) {
    const auto number = take_number(text, 255);
    if (!number) return std::nullopt;
    block.address = block.address << 8 | static_cast<std::uint32_t>(*number);
    if (text.empty() || text.front() != (part < 3 ? '.' : '/')) return std::nullopt;
    text.remove_prefix(1);
  }
  const auto prefix = take_number(text, kBits);
  if (!prefix || !text.empty()) return std::nullopt;
  block.prefix = *prefix;
  if ((block.address & ~mask_of(block.prefix)) != 0) return std::nullopt;
  return block;
}

std::string to_string(const Ipv4Block& block) {
  return fmt::format("{}.{}.{}.{}/{}", block.address >> 24, block.address >> 16 & 255,
                     block.address >> 8 & 255, block.address & 255, block.prefix);
}

bool is_private(const Ipv4Block& block) {
  static const Ipv4Block kPrivate[] = {
      {0x0A000000, 8}, {0xAC100000, 12}, {0xC0A80000, 16}, {0x64400000, 10}};
  return std::any_of(std::begin(kPrivate), std::end(kPrivate),
                     [&](const Ipv4Block& range) { return range.contains(block); });
}

std::vector<Ipv4Block> free_blocks(const Ipv4Block& whole, int prefix, std::size_t count,
                                   const std::vector<Ipv4Block>& taken) {
  std::vector<Ipv4Block> blocks;
  if (prefix < whole.prefix || prefix > kBits) return blocks;
  const std::uint64_t step = std::uint64_t{1} << (kBits - prefix);
  const std::uint64_t end = whole.address + whole.size();
  for (std::uint64_t at = whole.address; at < end && blocks.size() < count;) {
    const Ipv4Block block{static_cast<std::uint32_t>(at), prefix};
    const auto other = std::find_if(taken.begin(), taken.end(),
                                    [&](const Ipv4Block& one) { return one.overlaps(block); });
    if (other == taken.end()) {
      blocks.push_back(block);
      at += step;
    } else {
      // Behind what is in the way, on the next boundary of this size.
      const std::uint64_t behind = std::max<std::uint64_t>(other->address + other->size(), at + 1);
      at = (behind + step - 1) / step * step;
    }
  }
  return blocks;
}

}  // namespace muster
