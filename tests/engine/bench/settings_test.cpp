#include "engine/bench/settings.h"

#include <gtest/gtest.h>

namespace muster::measure {
namespace {

std::string refusal(const Settings& settings, Operation operation = Operation::kAllReduce) {
  const auto sweep = make_sweep(operation, settings, 4);
  return sweep ? "" : to_string(sweep.findings().front());
}

TEST(Settings, SizesAreBinaryAndNothingElse) {
  EXPECT_EQ(parse_size("8"), 8U);
  EXPECT_EQ(parse_size("4k"), 4096U);
  EXPECT_EQ(parse_size("32M"), 33554432U);
  EXPECT_EQ(parse_size("2G"), 2147483648U);
  for (const char* wrong :
       {"", "k", "8T", "8kB", "-1", "1.5M", "8 k", "99999999999999999999", "9999999999G"})
    EXPECT_FALSE(parse_size(wrong)) << wrong;
}

TEST(Settings, StepsAndFactors) {
  Settings settings;
  settings.min_bytes = "8";
  settings.max_bytes = "64";
  settings.step_factor = 2;
  EXPECT_EQ(make_sweep(Operation::kAllReduce, settings, 2)->sizes,
            (std::vector<std::size_t>{8, 16, 32, 64}));
  settings.step_factor = 0;
  settings.step_bytes = "28";
  EXPECT_EQ(make_sweep(Operation::kAllReduce, settings, 2)->sizes,
            (std::vector<std::size_t>{8, 36, 64}));
}

TEST(Settings, WhatCantBeIsRefusedByName) {
  const auto with = [](auto change) {
    Settings settings;
    change(settings);
    return refusal(settings);
  };
  EXPECT_NE(with([](Settings& s) { s.time_limit = 0; }).find("-T: 0: every wait has a limit"),
            std::string::npos);
  EXPECT_NE(with([](Settings& s) { s.cycles = 0; }).find("--duration"), std::string::npos);
  EXPECT_NE(with([](Settings& s) { s.gpus = 8; }).find("-g: more than one GPU a rank"),
            std::string::npos);
  EXPECT_NE(with([](Settings& s) { s.threads = 2; }).find("-t"), std::string::npos);
  EXPECT_NE(with([](Settings& s) { s.graphs = 1; }).find("-G"), std::string::npos);
  EXPECT_NE(with([](Settings& s) { s.min_bytes = "64M"; }).find("-b"), std::string::npos);
  EXPECT_NE(with([](Settings& s) { s.step_factor = 1; }).find("-f"), std::string::npos);
  EXPECT_NE(with([](Settings& s) { s.type = "fp32"; }).find("-d"), std::string::npos);
  EXPECT_NE(with([](Settings& s) { s.reduction = "mean"; }).find("-o"), std::string::npos);
  EXPECT_NE(with([](Settings& s) { s.iterations = 0; }).find("-n"), std::string::npos);
  EXPECT_NE(with([](Settings& s) { s.average = 4; }).find("-a"), std::string::npos);
  EXPECT_EQ(with([](Settings&) {}), "");
  EXPECT_EQ(with([](Settings& s) { s.cycles = 0, s.duration = 2; }), "");
}

TEST(Settings, RootsAreRanks) {
  Settings settings;
  settings.root = 4;
  EXPECT_NE(refusal(settings, Operation::kBroadcast).find("-r"), std::string::npos);
  EXPECT_EQ(refusal(settings, Operation::kAllReduce), "");  // has no root
  EXPECT_TRUE(make_sweep(Operation::kBroadcast, settings, std::nullopt)->roots.empty());
  settings.root = -1;
  EXPECT_EQ(make_sweep(Operation::kReduce, settings, 3)->roots, (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace muster::measure
