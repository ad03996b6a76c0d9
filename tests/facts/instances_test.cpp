#include "facts/instances.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "facts/describe.h"
#include "facts/facts.h"
#include "testing.h"

namespace muster::facts {
namespace {

const std::vector<Instance>& committed() {
  static const std::vector<Instance> kInstances = [] {
    auto instances = load_instances(real_file_system(), testing::source_dir());
    for (const Finding& finding : instances.findings()) ADD_FAILURE() << to_string(finding);
    return instances ? *instances : std::vector<Instance>();
  }();
  return kInstances;
}

Instance get(const std::string& name) {
  const auto instance = find_instance(committed(), name);
  EXPECT_TRUE(instance.ok()) << name;
  return instance ? *instance : Instance();
}

struct Expected {
  const char* name;
  int accelerators;  ///< -1: none
  int efa;           ///< -1: not known
};

// Every type that public templates, health profiles and test cases name.
const Expected kExpected[] = {
    {"p4d.24xlarge", 8, 4},     {"p4de.24xlarge", 8, 4},     {"p5.4xlarge", 1, 1},
    {"p5.48xlarge", 8, 32},     {"p5e.48xlarge", 8, 32},     {"p5en.48xlarge", 8, 16},
    {"p6-b200.48xlarge", 8, 8}, {"p6-b300.48xlarge", 8, 16}, {"p6e-gb200.36xlarge", 4, -1},
    {"g4dn.8xlarge", 1, 1},     {"g4dn.16xlarge", 1, 1},     {"g5.8xlarge", 1, 1},
    {"g5.12xlarge", 4, 1},      {"g6.xlarge", 1, 0},         {"g6.12xlarge", 4, 1},
    {"g6.48xlarge", 8, 1},      {"g6e.xlarge", 1, 0},        {"g6e.4xlarge", 1, 0},
    {"g6e.12xlarge", 4, 1},     {"g6e.24xlarge", 4, 2},      {"g6e.48xlarge", 8, 4},
    {"g7e.2xlarge", 1, 0},      {"g7e.48xlarge", 8, 4},      {"trn1.32xlarge", 16, 8},
    {"trn1n.32xlarge", 16, 16}, {"trn2.3xlarge", 1, 1},      {"trn2.48xlarge", 16, 16},
    {"trn2u.48xlarge", 16, -1}, {"hpc6a.48xlarge", -1, 1},   {"hpc6id.32xlarge", -1, 2},
    {"hpc7a.12xlarge", -1, 2},  {"hpc7a.96xlarge", -1, 2},   {"hpc8a.96xlarge", -1, 2},
    {"c7i.metal-48xl", -1, 1},
};

TEST(Instances, EveryExpectedTypeIsThereWithItsCounts) {
  for (const Expected& expected : kExpected) {
    SCOPED_TRACE(expected.name);
    const Instance instance = get(expected.name);
    if (expected.accelerators < 0) {
      EXPECT_FALSE(instance.accelerators.has_value());
    } else {
      ASSERT_TRUE(instance.accelerators.has_value());
      EXPECT_EQ(instance.accelerators->count, expected.accelerators);
    }
    EXPECT_EQ(instance.network.efa_count,
              expected.efa < 0 ? std::nullopt : std::optional<int>(expected.efa));
  }
}

TEST(Instances, EveryRowSaysWhereItComesFrom) {
  ASSERT_FALSE(committed().empty());
  for (const Instance& instance : committed()) {
    EXPECT_FALSE(instance.sources.empty()) << instance.name;
    for (const std::string& source : instance.sources)
      EXPECT_GT(source.size(), 10u) << instance.name;
    EXPECT_EQ(instance.date.size(), 10u) << instance.name;
  }
}

// The layouts are rules over cards; here they are counted one by one.
TEST(Instances, InterfacesFollowTheLayoutOfTheType) {
  const auto p5 = get("p5.48xlarge").network.interfaces;
  ASSERT_EQ(p5.size(), 32u);
  EXPECT_EQ(p5[0], (Interface{0, 0, "efa"}));
  for (int card = 1; card < 32; ++card) EXPECT_EQ(p5[card], (Interface{card, 1, "efa"}));

  const auto p5en = get("p5en.48xlarge").network.interfaces;
  ASSERT_EQ(p5en.size(), 16u);
  EXPECT_EQ(p5en[15], (Interface{15, 1, "efa"}));

  const auto b300 = get("p6-b300.48xlarge").network.interfaces;
  ASSERT_EQ(b300.size(), 17u);
  EXPECT_EQ(b300[0], (Interface{0, 0, "interface"}));
  for (int card = 1; card < 17; ++card) EXPECT_EQ(b300[card], (Interface{card, 0, "efa"}));

  const auto p4d = get("p4d.24xlarge").network.interfaces;
  ASSERT_EQ(p4d.size(), 4u);
  for (int card = 0; card < 4; ++card) EXPECT_EQ(p4d[card], (Interface{card, card, "efa"}));

  EXPECT_EQ(get("hpc7a.96xlarge").network.interfaces,
            (std::vector<Interface>{{0, 0, "efa"}, {1, 1, "efa"}}));
  EXPECT_TRUE(get("p6e-gb200.36xlarge").network.interfaces.empty());
}

TEST(Instances, UnknownIsAbsentAndNotZero) {
  const Instance gb200 = get("p6e-gb200.36xlarge");
  const auto json = to_json(gb200);
  EXPECT_FALSE(json["network"].contains("efa"));
  EXPECT_EQ(json["network"]["rdma"]["read"], true);
  EXPECT_FALSE(to_json(get("hpc7a.96xlarge")).contains("accelerators"));
  EXPECT_FALSE(to_json(get("g5.8xlarge")).contains("nvlink"));
}

TEST(Instances, SizesKeepTheirUnit) {
  EXPECT_EQ(get("p5.48xlarge").accelerators->memory_bytes, 81920LL << 20);
  EXPECT_EQ(to_json(get("p5.48xlarge"))["accelerators"]["memory"], "80 GiB");
  EXPECT_EQ(to_json(get("p6-b200.48xlarge"))["accelerators"]["memory"], "183359 MiB");
  EXPECT_EQ(get("p5.48xlarge").memory_bytes, 2048LL << 30);
}

TEST(Instances, NameTakesMlPrefixAndExplainsATypo) {
  EXPECT_EQ(get("ml.p5.48xlarge").name, "p5.48xlarge");
  const auto typo = find_instance(committed(), "p5.48xlarg");
  ASSERT_FALSE(typo.ok());
  EXPECT_EQ(typo.findings()[0].hint, "did you mean \"p5.48xlarge\"?");
}

TEST(Instances, DescriptionIsCompact) {
  const std::string text = describe(get("p5.48xlarge"));
  EXPECT_NE(text.find("8 × H100, 80 GiB each"), std::string::npos) << text;
  EXPECT_NE(text.find("card 0 device 0 efa, cards 1-31 device 1 efa"), std::string::npos) << text;
}

std::string with_row(const std::string& row) {
  return "apiVersion: muster/v1\nkind: Instances\nsources: {here: made up for a "
         "test}\ninstances:\n  - name: a.large\n" +
         row + "    sources: [here]\n    date: 2026-01-01\n";
}

TEST(Instances, MistakesAreLocated) {
  struct Mistake {
    const char* row;
    const char* rule;
    int line;
  };
  const Mistake mistakes[] = {
      {"    acelerators: {kind: gpu}\n", "facts-unknown-key", 6},
      {"    memory: much\n", "facts-form", 6},
      {"    network: {efa: {count: 2, interfaces: [{cards: 0, device: 0, type: efa}]}}\n",
       "facts-layout", 6},
      {"    network: {cards: 2, efa: {count: 4, interfaces: [{cards: 0-3, device: 0, type: "
       "efa}]}}\n",
       "facts-layout", 6},
      {"    network: {efa: {count: 2, interfaces: [{cards: 0, device: 0, type: efa}, {cards: 0, "
       "device: 0, type: efa}]}}\n",
       "facts-layout", 6},
      {"    network: {efa: {count: 1, interfaces: [{cards: 1, device: 0, type: efa}]}}\n",
       "facts-layout", 6},
      {"    cpu: {sockets: 2, cores_per_socket: 24, cores: 40}\n", "facts-cpu", 6},
      {"    accelerators: {kind: gpu, model: X, count: 0}\n", "facts-range", 6},
  };
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.row);
    const auto instances = parse_instances(with_row(mistake.row), "facts/instances.yaml");
    ASSERT_FALSE(instances.ok());
    EXPECT_EQ(instances.findings()[0].rule, mistake.rule);
    EXPECT_EQ(instances.findings()[0].where.line, mistake.line);
    EXPECT_EQ(instances.findings()[0].where.file, "facts/instances.yaml");
  }
}

TEST(Instances, RepeatedNameAndUnknownSourceAreErrors) {
  std::string text = with_row("");
  text += "  - name: a.large\n    sources: [nowhere]\n    date: 2026-01-01\n";
  const auto instances = parse_instances(text, "f");
  ASSERT_FALSE(instances.ok());
  ASSERT_EQ(instances.findings().size(), 2u);
  EXPECT_EQ(instances.findings()[0].rule, "facts-repeated");
  EXPECT_EQ(instances.findings()[1].rule, "facts-source");
}

}  // namespace
}  // namespace muster::facts
