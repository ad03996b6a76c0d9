// Properties of address plans, over made-up networks.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "architectures/network.h"

namespace muster::architectures {
namespace {

Ipv4Block made_block(std::uint32_t address, int prefix) {
  const std::uint32_t mask = prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
  return {address & mask, prefix};
}

rc::Gen<Ipv4Block> any_block(int largest, int smallest) {
  return rc::gen::map(
      rc::gen::pair(rc::gen::arbitrary<std::uint32_t>(), rc::gen::inRange(largest, smallest + 1)),
      [](const auto& pair) { return made_block(pair.first, pair.second); });
}

struct Wanted {
  catalog::NetworkWish wish;
  std::vector<std::string> zones;
  std::vector<std::uint64_t> needed;
};

Wanted made_network() {
  Wanted wanted;
  const int zones = *rc::gen::inRange(1, 7);
  wanted.wish.cidr = to_string(made_block(0x0A000000, *rc::gen::inRange(14, 30)));
  wanted.wish.public_subnets = *rc::gen::arbitrary<bool>();
  for (int i = *rc::gen::inRange(1, 3); i > 0; --i) {
    const auto second = static_cast<std::uint32_t>(*rc::gen::inRange(0, 4)) << 16;
    wanted.wish.private_cidrs.push_back(
        to_string(made_block(0x0A000000 + second, *rc::gen::inRange(15, 30))));
  }
  for (int i = 0; i < zones; ++i) {
    wanted.zones.push_back(std::string(1, static_cast<char>('a' + i)));
    wanted.needed.push_back(static_cast<std::uint64_t>(*rc::gen::inRange(0, 70000)));
  }
  return wanted;
}

RC_GTEST_PROP(AddressPlanProperty, SubnetsNeverOverlapAndLieInTheirBlocks, ()) {
  const Wanted wanted = made_network();
  const AddressPlan plan = plan_addresses(wanted.wish, wanted.zones, wanted.needed);
  std::vector<Ipv4Block> subnets;
  for (const ZonePlan& zone : plan.zones) {
    subnets.push_back(zone.private_subnet);
    subnets.push_back(zone.control_subnet);
    if (zone.public_subnet) subnets.push_back(*zone.public_subnet);
    RC_ASSERT(zone.public_subnet.has_value() == wanted.wish.public_subnets);
  }
  std::vector<Ipv4Block> blocks = plan.secondary;
  blocks.push_back(plan.vpc);
  for (std::size_t i = 0; i < subnets.size(); ++i) {
    for (std::size_t j = i + 1; j < subnets.size(); ++j)
      RC_ASSERT(!subnets[i].overlaps(subnets[j]));
    RC_ASSERT(std::any_of(blocks.begin(), blocks.end(),
                          [&](const Ipv4Block& block) { return block.contains(subnets[i]); }));
    RC_ASSERT(subnets[i].prefix <= 28);
  }
}

RC_GTEST_PROP(AddressPlanProperty, APlanWithoutFindingsHasRoomInEveryZone, ()) {
  const Wanted wanted = made_network();
  const AddressPlan plan = plan_addresses(wanted.wish, wanted.zones, wanted.needed);
  if (has_errors(plan.findings)) return;
  RC_ASSERT(plan.zones.size() == wanted.zones.size());
  for (std::size_t i = 0; i < plan.zones.size(); ++i) {
    RC_ASSERT(plan.zones[i].zone == wanted.zones[i]);
    RC_ASSERT(plan.zones[i].private_subnet.size() >= wanted.needed[i] + kReservedAddresses);
  }
}

RC_GTEST_PROP(Ipv4Property, ReadsBackWhatIsWritten, ()) {
  const Ipv4Block block = *any_block(0, 32);
  const auto read = parse_ipv4_block(to_string(block));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == block);
}

RC_GTEST_PROP(Ipv4Property, FreeBlocksAreFree, ()) {
  const Ipv4Block whole = *any_block(8, 24);
  const int prefix = whole.prefix + *rc::gen::inRange(0, 6);
  std::vector<Ipv4Block> taken;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    const Ipv4Block inside = *any_block(whole.prefix, 32);
    taken.push_back(made_block(
        whole.address + static_cast<std::uint32_t>(inside.address % whole.size()), inside.prefix));
  }
  std::vector<Ipv4Block> all = taken;
  const auto found = free_blocks(whole, prefix, 40, taken);
  for (const Ipv4Block& block : found) {
    RC_ASSERT(whole.contains(block));
    RC_ASSERT(std::none_of(all.begin(), all.end(),
                           [&](const Ipv4Block& other) { return other.overlaps(block); }));
    all.push_back(block);
  }
  // None is missed: every part of the whole that nothing is in is among them.
  std::size_t free = 0;
  for (std::uint64_t i = 0; i < (std::uint64_t{1} << (prefix - whole.prefix)); ++i) {
    const Ipv4Block part{static_cast<std::uint32_t>(whole.address + (i << (32 - prefix))), prefix};
    free += std::none_of(taken.begin(), taken.end(),
                         [&](const Ipv4Block& other) { return other.overlaps(part); })
                ? 1
                : 0;
  }
  RC_ASSERT(found.size() == std::min<std::size_t>(free, 40));
}

TEST(Ipv4, RefusesWhatIsNoBlock) {
  for (const char* text : {"", "10.0.0.0", "10.0.0/8", "10.0.0.0/33", "10.0.0.1/24", "256.0.0.0/8",
                           "10.0.0.0/8 ", "01.0.0.0/8", "-1.0.0.0/8", "10.0.0.0/", "a.b.c.d/8"})
    EXPECT_FALSE(parse_ipv4_block(text)) << text;
}

}  // namespace
}  // namespace muster::architectures
