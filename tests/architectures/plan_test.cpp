// Plans of clusters, and what is found wrong in them, over the project's own architectures.
#include <gtest/gtest.h>

#include "architectures/catalogue.h"
#include "architectures/interfaces.h"
#include "architectures/plan.h"
#include "architectures/render.h"
#include "architectures/template_blocks.h"
#include "findings_text.h"
#include "testing.h"

namespace muster::architectures {
namespace {

const std::filesystem::path kSource = testing::source_dir();

const facts::Facts& known() {
  static const facts::Facts kFacts = *facts::load_facts(real_file_system(), kSource);
  return kFacts;
}

/// Every finding of a cluster, one a line, as "LINE rule".
std::string wrong_with(const std::string& text) {
  const auto cluster = catalog::read_cluster(text, "cluster.yaml", known());
  Findings findings = cluster.findings();
  if (cluster) {
    const auto architecture = load_architecture(real_file_system(), kSource, cluster->architecture);
    const auto templates = load_templates(real_file_system(), kSource, *architecture);
    findings = plan_cluster(*cluster, *architecture, *templates, known()).findings;
  }
  std::string told;
  for (const Finding& finding : findings)
    told += std::to_string(finding.where.line) + " " + finding.rule + "\n";
  return told;
}

const std::string kHead =
    "apiVersion: muster/v1\nkind: Cluster\nname: c\narchitecture: vpc_network\n"
    "region: us-east-1\nzones: [use1-az1]\n";

TEST(Cluster, SaysWhatIsWrongAtItsLine) {
  EXPECT_EQ(wrong_with(kHead), "");
  EXPECT_EQ(wrong_with("apiVersion: muster/v1\nkind: Cluster\nname: c\narchitecture: vpc_network\n"
                       "region: us-east-1\nzones: [usw2-az1, us-east-1a, us-east-1a]\n"),
            "6 cluster-zone\n6 cluster-zone-twice\n6 cluster-zone-kinds\n");
  EXPECT_EQ(wrong_with(kHead + "network: {nat: single, public_subnets: false}\n"),
            "7 cluster-nat\n");
  EXPECT_EQ(wrong_with(kHead + "network:\n  existing: {vpc: vpc-01234567}\n"),
            "8 cluster-network\n");
  EXPECT_EQ(wrong_with(kHead + "network:\n  existing: {stack: s}\n  nat: none\n"),
            "9 cluster-network\n");
  const std::string group = kHead + "node_groups:\n  - {name: g, instance: p5.48xlarge, count: 2, ";
  EXPECT_EQ(wrong_with(group + "capacity: {kind: capacity-block}}\n"), "8 cluster-capacity\n");
  EXPECT_EQ(wrong_with(group + "capacity: {kind: training-plan}}\n"), "8 cluster-capacity\n");
  EXPECT_EQ(wrong_with(group + "capacity: {reservation: cr-0123456789abcdef0}}\n"),
            "8 cluster-capacity\n");
  EXPECT_EQ(wrong_with(group + "zone: use1-az2}\n"), "8 cluster-zone\n");
  EXPECT_EQ(wrong_with(kHead + "node_groups: [{name: g, instance: p5.48xlage, count: 1}]\n"),
            "7 cluster-instance\n");
}

TEST(Cluster, ChecksFileSystemsAsFsxDoes) {
  const std::string lustre = kHead + "storage:\n  lustre: ";
  EXPECT_EQ(wrong_with(lustre + "{capacity: 4800}\n"), "");
  EXPECT_EQ(wrong_with(lustre + "{capacity: 3600}\n"), "8 cluster-lustre\n");
  EXPECT_EQ(wrong_with(lustre + "{deployment: PERSISTENT_1}\n"), "8 cluster-lustre\n");
  EXPECT_EQ(wrong_with(lustre + "{deployment: PERSISTENT_1, throughput: 200}\n"), "");
  EXPECT_EQ(wrong_with(lustre + "{efa: true, capacity: 16800}\n"), "8 cluster-lustre\n");
  EXPECT_EQ(wrong_with(lustre + "{efa: true, capacity: 19200}\n"), "");
  EXPECT_EQ(wrong_with(kHead + "storage:\n  openzfs: {throughput: 512}\n"), "8 cluster-openzfs\n");
  EXPECT_EQ(wrong_with(kHead + "storage:\n  openzfs: {deployment: MULTI_AZ_1}\n"),
            "6 cluster-zones\n");
}

TEST(Cluster, HasRoomForEveryInterface) {
  const std::string block = kHead + "network: {private_cidrs: [10.1.0.0/24]}\nnode_groups:\n";
  EXPECT_EQ(wrong_with(block + "  - {name: g, instance: p5.48xlarge, count: 6}\n"), "");
  EXPECT_EQ(wrong_with(block + "  - {name: g, instance: p5.48xlarge, count: 7}\n"),
            "7 network-room\n");
  EXPECT_EQ(wrong_with(kHead + "network: {private_cidrs: [192.168.0.0/16]}\n"),
            "7 network-block-range\n");
  EXPECT_EQ(wrong_with(kHead + "network: {private_cidrs: [10.0.0.0/15]}\n"),
            "7 network-block-size\n7 network-overlap\n");
}

TEST(Layout, FollowsTheTableOfInstanceTypes) {
  const auto layout = [](const char* type) {
    const auto instance = facts::find_instance(known().instances, type);
    catalog::NodeGroup group;
    group.count = 1;
    return describe(lay_out(group, *instance));
  };
  EXPECT_EQ(layout("p5.48xlarge"), "card 0 device 0 efa, cards 1-31 device 1 efa");
  EXPECT_EQ(layout("p6-b300.48xlarge"), "card 0 device 0 plain, cards 1-16 device 0 efa");
  EXPECT_EQ(layout("g6.xlarge"), "one interface, no EFA");
}

TEST(ZoneIds, StartAsTheRegionSays) {
  EXPECT_EQ(catalog::zone_id_prefix("us-east-1"), "use1");
  EXPECT_EQ(catalog::zone_id_prefix("ap-southeast-2"), "apse2");
  EXPECT_EQ(catalog::zone_id_prefix("us-gov-west-1"), "usgw1");
  EXPECT_EQ(catalog::zone_id_prefix("eu-central-1"), "euc1");
  EXPECT_EQ(catalog::zone_id_prefix("nowhere"), "");
}

TEST(TemplateBlocks, AreRenderedForTheTypeThatIsAsked) {
  const std::string text =
      "a:\n  # >>> interfaces p4d.24xlarge: rendered from facts/instances.yaml, change that\n  - "
      "x\n"
      "  # <<< interfaces\nb: 1\n";
  const auto filled = fill_template(text, "t.yaml", known().instances, "p6-b200.48xlarge");
  ASSERT_TRUE(filled) << testing::text_of_findings(filled.findings());
  EXPECT_EQ(std::count(filled->begin(), filled->end(), '\n'), 4 + 8);
  EXPECT_NE(filled->find("# >>> interfaces p6-b200.48xlarge"), std::string::npos);
  EXPECT_EQ(*fill_template(*filled, "t.yaml", known().instances), *filled);
  const auto open =
      fill_template("  # >>> interfaces p4d.24xlarge: x\n", "t.yaml", known().instances);
  EXPECT_EQ(open.findings().front().rule, "render-block");
  const auto odd =
      fill_template("# >>> odd p4d.24xlarge: x\n# <<< odd\n", "t.yaml", known().instances);
  EXPECT_FALSE(odd.ok());
}

// What the project keeps: every example plans without a finding, and every template's blocks are
// what the facts say.
TEST(Architectures, ExamplesPlanWithoutErrors) {
  int examples = 0;
  for (const std::string& name : architecture_names(real_file_system(), kSource)) {
    for (const auto& path : example_clusters(real_file_system(), kSource, name)) {
      const auto plan = plan_file(real_file_system(), kSource, path, known());
      ASSERT_TRUE(plan) << testing::text_of_findings(plan.findings());
      EXPECT_EQ(plan->architecture.name, name) << path;
      EXPECT_FALSE(has_errors(plan->findings)) << path << "\n" << to_text(*plan);
      ++examples;
    }
    const auto architecture = load_architecture(real_file_system(), kSource, name);
    ASSERT_TRUE(architecture) << testing::text_of_findings(architecture.findings());
    const auto templates = load_templates(real_file_system(), kSource, *architecture);
    ASSERT_TRUE(templates) << testing::text_of_findings(templates.findings());
    for (const auto& [file, text] : *templates) {
      const auto filled = fill_template(text, file, known().instances);
      ASSERT_TRUE(filled) << testing::text_of_findings(filled.findings());
      EXPECT_EQ(*filled, text) << name << "/" << file;
    }
  }
  EXPECT_GE(examples, 15);
}

TEST(Architectures, RenderedFilesAreInSync) {
  const auto kept = kept_files(real_file_system(), kSource, known());
  ASSERT_TRUE(kept) << testing::text_of_findings(kept.findings());
  for (const RenderedFile& file : *kept) {
    const auto text = real_file_system().read(kSource / file.path);
    ASSERT_TRUE(text) << file.path;
    EXPECT_TRUE(*text == file.content)
        << file.path << ": muster render architectures brings it into sync";
  }
}

}  // namespace
}  // namespace muster::architectures
