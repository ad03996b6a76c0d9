#include "architectures/network.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace muster::architectures {
namespace {

// Of a VPC's blocks, and of subnets: AWS takes /16 to /28.
constexpr int kLargest = 16, kSmallest = 28;
constexpr int kPublicPrefix = 24;

class AddressPlanner {
 public:
  AddressPlanner(const catalog::NetworkWish& wish, const std::vector<std::string>& zones,
                 const std::vector<std::uint64_t>& needed)
      : wish_(wish), zones_(zones), needed_(needed) {}

  AddressPlan plan() {
    const auto vpc = parse_ipv4_block(wish_.cidr);
    if (!vpc || zones_.empty()) return std::move(plan_);
    plan_.vpc = *vpc;
    check_size(*vpc, wish_.cidr_where);
    if (!take_private_blocks()) return std::move(plan_);
    place_public();
    place_private();
    return std::move(plan_);
  }

 private:
  void wrong(const Position& where, const char* rule, std::string message, std::string hint = {}) {
    plan_.findings.push_back(error_at(where, rule, std::move(message), std::move(hint)));
  }

  void check_size(const Ipv4Block& block, const Position& where) {
    if (block.prefix < kLargest || block.prefix > kSmallest)
      wrong(
          where, "network-block-size",
          fmt::format("{}: AWS takes blocks of /{} to /{}", to_string(block), kLargest, kSmallest));
    if (!is_private(block))
      plan_.findings.push_back(
          warning_at(where, "network-public-block",
                     fmt::format("{} belongs to the internet: what is there can't be reached",
                                 to_string(block)),
                     "10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10"));
  }

  /// False when the blocks can't be told apart.
  bool take_private_blocks() {
    for (const std::string& text : wish_.private_cidrs) {
      const auto block = parse_ipv4_block(text);
      if (!block) return false;
      check_size(*block, wish_.private_where);
      for (const Ipv4Block& other : blocks_) {
        if (!other.overlaps(*block)) continue;
        wrong(wish_.private_where, "network-overlap",
              fmt::format("{} and {} overlap", to_string(other), to_string(*block)));
        return false;
      }
      blocks_.push_back(*block);
      if (plan_.vpc.contains(*block)) continue;
      if (block->contains(plan_.vpc)) {
        wrong(wish_.private_where, "network-overlap",
              fmt::format("{} and the VPC's {} overlap", to_string(*block), to_string(plan_.vpc)));
        return false;
      }
      check_pair(*block);
      plan_.secondary.push_back(*block);
    }
    return true;
  }

  /// EC2 adds no block of one private range to a VPC of another.
  void check_pair(const Ipv4Block& block) {
    const auto range = [](const Ipv4Block& one) {
      static const Ipv4Block kRanges[] = {{0x0A000000, 8}, {0xAC100000, 12}, {0xC0A80000, 16}};
      for (const Ipv4Block& range : kRanges) {
        if (range.contains(one)) return range.prefix;
      }
      return 0;
    };
    const int first = range(plan_.vpc), second = range(block);
    if (first != 0 && second != 0 && first != second)
      wrong(wish_.private_where, "network-block-range",
            fmt::format("EC2 adds no {} to a VPC of {}", to_string(block), to_string(plan_.vpc)),
            "a block of the same private range, or of 100.64.0.0/10");
  }

  void place_public() {
    const std::size_t count = zones_.size();
    plan_.zones.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      plan_.zones[i].zone = zones_[i];
      plan_.zones[i].needed = i < needed_.size() ? needed_[i] : 0;
    }
    // Private blocks may lie within the VPC's first.
    taken_ = blocks_;
    const int prefix = std::min(std::max(kPublicPrefix, plan_.vpc.prefix + 4), kSmallest);
    const auto open = wish_.public_subnets ? free_blocks(plan_.vpc, prefix, count, taken_)
                                           : std::vector<Ipv4Block>();
    taken_.insert(taken_.end(), open.begin(), open.end());
    const auto control = free_blocks(plan_.vpc, kSmallest, count, taken_);
    if ((wish_.public_subnets && open.size() < count) || control.size() < count) {
      wrong(wish_.cidr_where, "network-room",
            fmt::format("{} has no room for the {}subnets of {} zones", to_string(plan_.vpc),
                        wish_.public_subnets ? "public " : "", count),
            fmt::format("a larger block, up to /{}", kLargest));
      plan_.zones.clear();
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (wish_.public_subnets) plan_.zones[i].public_subnet = open[i];
      plan_.zones[i].control_subnet = control[i];
    }
  }

  /// Each block is cut into equal parts, a power of two, for its share of the zones.
  void place_private() {
    const std::size_t zones = plan_.zones.size();
    const std::size_t used = std::min(blocks_.size(), zones);
    if (used == 0) return;
    std::size_t zone = 0;
    for (std::size_t i = 0; i < used; ++i) {
      const std::size_t share = (zones - zone + (used - i) - 1) / (used - i);
      const int prefix = blocks_[i].prefix + std::bit_width(std::bit_ceil(share)) - 1;
      if (prefix > kSmallest) {
        wrong(wish_.private_where, "network-room",
              fmt::format("{} can't be cut into {} subnets", to_string(blocks_[i]), share),
              fmt::format("subnets are at least /{}", kSmallest));
        plan_.zones.clear();
        return;
      }
      const auto parts = free_blocks(blocks_[i], prefix, share, {});
      for (const Ipv4Block& part : parts) give(plan_.zones[zone++], part);
    }
  }

  void give(ZonePlan& zone, const Ipv4Block& block) {
    zone.private_subnet = block;
    const std::uint64_t room = block.size() - kReservedAddresses;
    if (zone.needed <= room) return;
    wrong(wish_.private_where, "network-room",
          fmt::format("the nodes of {} need {} addresses, and {} has {}", zone.zone, zone.needed,
                      to_string(block), room),
          "larger or more private_cidrs, or fewer nodes");
  }

  const catalog::NetworkWish& wish_;
  const std::vector<std::string>& zones_;
  const std::vector<std::uint64_t>& needed_;
  std::vector<Ipv4Block> blocks_, taken_;
  AddressPlan plan_;
};

}  // namespace

AddressPlan plan_addresses(const catalog::NetworkWish& wish, const std::vector<std::string>& zones,
                           const std::vector<std::uint64_t>& needed) {
  return AddressPlanner(wish, zones, needed).plan();
}

}  // namespace muster::architectures
