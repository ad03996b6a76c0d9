#include "engine/bench/expert_routing.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "engine/bench/expert_support.h"

namespace muster::measure {
namespace {

RC_GTEST_PROP(ExpertRouting, EveryTokenHasDistinctExpertsWithinItsGroups, ()) {
  const ExpertShape shape = some_shape();
  const unsigned seed = *rc::gen::arbitrary<unsigned>();
  const int rank = *rc::gen::inRange(0, shape.ranks);
  const Routing routing = route(shape, rank, seed);
  RC_ASSERT(routing.tokens() == shape.tokens);
  int void_ones = 0;
  for (int token = 0; token < shape.tokens; ++token) {
    std::set<int> experts, nodes;
    int valid = 0;
    for (int k = 0; k < shape.top_k; ++k) {
      const int expert = routing.experts_of(token)[k];
      const float weight = routing.weights_of(token)[k];
      RC_ASSERT(weight == 0.25F || weight == 0.5F);
      if (expert < 0) {
        ++void_ones;
        continue;
      }
      ++valid;
      RC_ASSERT(expert < shape.experts);
      experts.insert(expert);
      nodes.insert(expert / (shape.experts / shape.nodes));
    }
    RC_ASSERT(static_cast<int>(experts.size()) == valid);
    RC_ASSERT(static_cast<int>(nodes.size()) <= shape.groups);
  }
  RC_ASSERT(void_ones == shape.masked);
  const Routing again = route(shape, rank, seed);
  RC_ASSERT(again.experts == routing.experts);
  RC_ASSERT(again.weights == routing.weights);
}

RC_GTEST_PROP(ExpertRouting, WhatIsDueSumsUpToWhatWasChosen, ()) {
  const ExpertShape shape = some_shape();
  const auto all = route_all(shape, *rc::gen::arbitrary<unsigned>());
  std::size_t rows = 0, slots = 0, chosen = 0, touched = 0;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const auto due = due_rows(shape, all, rank), slot = due_slots(shape, all, rank);
    rows += due.size();
    slots += slot.size();
    for (const Due& one : slot) {
      RC_ASSERT(shape.rank_of(one.expert) == rank);
      RC_ASSERT(all[static_cast<std::size_t>(one.source)].experts_of(one.token)[one.choice] ==
                one.expert);
    }
    RC_ASSERT(std::is_sorted(due.begin(), due.end(), [](const Due& a, const Due& b) {
      return std::pair(a.source, a.token) < std::pair(b.source, b.token);
    }));
    const Routing& own = all[static_cast<std::size_t>(rank)];
    for (int token = 0; token < shape.tokens; ++token) {
      std::set<int> ranks;
      for (int k = 0; k < shape.top_k; ++k) {
        const int expert = own.experts_of(token)[k];
        if (expert < 0) continue;
        ++chosen;
        ranks.insert(shape.rank_of(expert));
      }
      touched += ranks.size();
    }
  }
  RC_ASSERT(rows == touched);
  RC_ASSERT(slots == chosen);
}

std::vector<double> shares(const ExpertShape& shape) {
  std::vector<double> count(static_cast<std::size_t>(shape.experts));
  double total = 0;
  for (const Routing& routing : route_all(shape, 7)) {
    for (const int expert : routing.experts) {
      count[static_cast<std::size_t>(expert)] += 1;
      total += 1;
    }
  }
  for (double& one : count) one /= total;
  std::sort(count.rbegin(), count.rend());
  return count;
}

ExpertShape many_tokens(const char* routing) {
  ExpertShape shape = plain_shape(4, 4000, 128, 1, 64);
  shape.skew = *parse_skew(routing);
  return shape;
}

TEST(ExpertRouting, SkewIsWhatWasAsked) {
  // 16,000 picks: a share of 1/64 misses by 0.1 % at most (a standard deviation), here by five.
  const auto uniform = shares(many_tokens("uniform"));
  EXPECT_LT(uniform.front(), 1 / 64.0 + 0.005);
  EXPECT_GT(uniform.back(), 1 / 64.0 - 0.005);
  const auto zipf = shares(many_tokens("zipf:1"));
  double harmonic = 0;
  for (int i = 1; i <= 64; ++i) harmonic += 1.0 / i;
  EXPECT_NEAR(zipf[0], 1 / harmonic, 0.02);
  EXPECT_NEAR(zipf[1], 1 / harmonic / 2, 0.02);
  EXPECT_NEAR(zipf[7], 1 / harmonic / 8, 0.01);
  const auto hot = shares(many_tokens("hot:4:0.6"));
  EXPECT_NEAR(hot[0] + hot[1] + hot[2] + hot[3], 0.6, 0.02);
  EXPECT_LT(hot[4], 0.02);
}

TEST(ExpertRouting, UniformTokensTouchAsManyNodesAsTheFormulaExpects) {
  ExpertShape shape = plain_shape(8, 1000, 128, 8, 64);
  shape.nodes = shape.groups = 8;
  Placement placement;
  for (int rank = 0; rank < 8; ++rank) placement.node_of.push_back(rank);
  const auto all = route_all(shape, 3);
  double bytes = 0;
  for (int rank = 0; rank < 8; ++rank)
    bytes += account_dispatch(shape, all, placement, rank, false).across;
  EXPECT_NEAR(bytes / (8 * 1000.0 * 256), bench::expected_nodes(64, 8, 8), 0.05);
}

TEST(ExpertRouting, BytesAreThoseThatDeepEpCounts) {
  // 4096 tokens of 7168 channels on one node: each leaves once.
  ExpertShape shape = plain_shape(2, 4096, 7168, 8, 256);
  const Placement one_node{{0, 0}, {0, 1}, {{0, 1}}};
  const auto all = route_all(shape, 0);
  const Account bf16 = account_dispatch(shape, all, one_node, 0, false);
  EXPECT_DOUBLE_EQ(bf16.across, 58720256);
  EXPECT_DOUBLE_EQ(bf16.local, bf16.rows * 14336);
  shape.payload = bench::Payload::kFp8;
  const Account fp8 = account_dispatch(shape, all, one_node, 0, false);
  EXPECT_DOUBLE_EQ(fp8.across, 58720256 * 0.515625);
  EXPECT_DOUBLE_EQ(fp8.local, fp8.rows * (7168 + 224));
  // What comes back is bf16.
  EXPECT_DOUBLE_EQ(account_combine(shape, all, one_node, 0, false).local, bf16.local);

  ExpertShape slots = plain_shape(2, 128, 7168, 8, 288);
  slots.masked = 10;
  slots.payload = bench::Payload::kFp8;
  const auto chosen = route_all(slots, 0);
  EXPECT_DOUBLE_EQ(account_dispatch(slots, chosen, one_node, 1, true).slots, (128 * 8 - 10) * 7408);
  EXPECT_DOUBLE_EQ(account_combine(slots, chosen, one_node, 1, true).slots, (128 * 8 - 10) * 14336);
}

TEST(ExpertShape, SkewsAreReadAndOthersRefused) {
  for (const char* good : {"uniform", "zipf:1", "zipf:0.5", "hot:4:0.5"})
    EXPECT_EQ(to_string(*parse_skew(good)), good);
  EXPECT_EQ(to_string(*parse_skew("zipf")), "zipf:1");
  for (const char* bad : {"", "zip", "zipf:", "zipf:x", "zipf:1:2", "zipf:-1", "hot:0:0.5",
                          "hot:2:1", "hot:2:0", "hot:2", "uniform:1", "zipf:nan"})
    EXPECT_FALSE(parse_skew(bad)) << bad;
}

TEST(ExpertShape, RanksOfAHostAreANodeOrSoManyAsAsked) {
  const std::vector<Seat> seats = {{0, 1, "a"}, {1, 2, "b"}, {2, 3, "a"},
                                   {3, 4, "b"}, {4, 5, "a"}, {5, 6, "b"}};
  const Placement hosts = place(seats, 0);
  EXPECT_EQ(hosts.node_of, (std::vector<int>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(hosts.local_of, (std::vector<int>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(hosts.ranks_at, (std::vector<std::vector<int>>{{0, 2, 4}, {1, 3, 5}}));
  const Placement pairs = place(seats, 2);
  EXPECT_EQ(pairs.ranks_at, (std::vector<std::vector<int>>{{0, 2}, {1, 3}, {4}, {5}}));
}

std::string first_finding(const ExpertSettings& settings, int ranks, int nodes) {
  const auto plan = make_plan(settings, ranks, nodes);
  return plan ? "" : plan.findings().front().message;
}

TEST(ExpertShape, WhatCantBeIsRefusedByTheNameOfItsOption) {
  const auto with = [](auto change) {
    ExpertSettings settings;
    change(settings);
    return settings;
  };
  using S = ExpertSettings;
  const std::vector<std::pair<const char*, S>> bad = {
      {"--hidden", with([](S& s) { s.hidden = 130; })},
      {"--hidden", with([](S& s) { s.hidden = 0; })},
      {"--num-tokens", with([](S& s) { s.tokens = 0; })},
      {"--num-topk", with([](S& s) { s.top_k = 0; })},
      {"--num-topk", with([](S& s) { s.experts = 4; })},
      {"--num-experts", with([](S& s) { s.experts = 255; })},
      {"--num-topk-groups", with([](S& s) { s.groups = 3; })},
      {"--num-topk-groups", with([](S& s) { s.groups = 0; })},
      {"--num-topk", with([](S& s) { s.groups = 1, s.experts = 8; })},
      {"--masked", with([](S& s) { s.masked = 40000; })},
      {"--routing", with([](S& s) { s.routing = "hot:256:0.5"; })},
      {"-d", with([](S& s) { s.payload = "fp4"; })},
      {"--path", with([](S& s) { s.path = "ring"; })},
      {"--path", with([](S& s) { s.path = "alltoallv", s.low_latency = true; })},
      {"operation", with([](S& s) { s.operation = "scatter"; })},
      {"-n", with([](S& s) { s.iterations = 0; })},
      {"-T", with([](S& s) { s.time_limit = 0; })}};
  for (const auto& [option, settings] : bad)
    EXPECT_EQ(first_finding(settings, 4, 2).rfind(std::string(option) + ":", 0), 0U)
        << option << " " << first_finding(settings, 4, 2);
  EXPECT_EQ(first_finding({}, 4, 2), "");
  EXPECT_EQ(first_finding(with([](S& s) { s.experts = 255; }), 0, 0), "");
}

TEST(ExpertShape, FormsHaveTheirOwnDefaults) {
  ExpertSettings settings;
  EXPECT_EQ(make_plan(settings, 4, 1)->shape.tokens, 4096);
  EXPECT_EQ(make_plan(settings, 4, 1)->shape.experts, 256);
  settings.low_latency = true;
  EXPECT_EQ(make_plan(settings, 4, 1)->shape.tokens, 128);
  EXPECT_EQ(make_plan(settings, 4, 1)->shape.experts, 288);
}

}  // namespace
}  // namespace muster::measure
