// muster check as slurmd's HealthCheckProgram on a real cluster: a planted fault drains exactly its
// node, with the reason, and a clean run puts it back. Each node is looked at in a tree of its own,
// so that nodes have GPUs here.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "cluster.h"
#include "launch/muster_process.h"
#include "testing.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;
using muster::testbed::cluster;
using muster::testbed::on_controller;
using muster::testing::eventually;
using muster::testing::text_of;

const fs::path& kState = muster::testbed::state();

void put(const fs::path& path, const std::string& text, bool executable = false) {
  fs::create_directories(path.parent_path());
  const fs::path beside = path.string() + ".new";
  std::ofstream(beside) << text;
  if (executable) fs::permissions(beside, fs::perms(0755));
  fs::rename(beside, path);
}

constexpr const char* kQuiet = "[    0.0] Linux version 6.1\n[   10.0] all is well\n";

class HealthCheck : public ::testing::Test {
 protected:
  void SetUp() override {
    const ProcessResult up = cluster({"up"}, std::chrono::seconds(120));
    ASSERT_EQ(up.exit_code, 0) << up.err;
    for (const char* node : {"n1", "n2", "n3", "n4"}) plant(node, kQuiet);
    const fs::path source = muster::testing::source_dir();
    put(kState / "health.sh",
        "#!/bin/sh\n"
        "node=$(uname -n)\n" +
            (muster::testing::binary_dir() / "bin/muster").string() + " --project " +
            source.string() + " check gpu kernel-log limits --root " + kState.string() +
            "/tree/$node --plan slurm --node $node --act --at-most 2 >" + kState.string() +
            "/health-$node.new 2>&1\n"
            "mv " +
            kState.string() + "/health-$node.new " + kState.string() +
            "/health-$node\n"
            "echo . >>" +
            kState.string() + "/runs-$node\n",
        true);
    std::ofstream(kState / "etc/slurm.conf", std::ios::app)
        << "HealthCheckInterval=2\nHealthCheckProgram=" << (kState / "health.sh").string() << "\n";
    on_controller({"scontrol", "reconfigure"});
  }
  void TearDown() override {
    if (HasFailure()) {
      std::cerr << on_controller({"scontrol", "show", "nodes"});
      for (const char* node : {"n1", "n2", "n3", "n4"})
        std::cerr << "== " << node << "\n" << text_of(kState / ("health-" + std::string(node)));
    }
    muster::testbed::remove_cluster();
  }

  /// What a node's kernel tells; all else is well.
  static void plant(const std::string& node, const std::string& kernel) {
    const fs::path tree = kState / "tree" / node;
    const fs::path logs = muster::testing::source_dir() / "tests/health/logs";
    put(tree / "commands/dmesg", kernel);
    put(tree / "commands/nvidia-smi_-q_-x", text_of(logs / "nvidia-smi-q-h100.xml"));
    put(tree / "proc/self/limits",
        "Max open files            65536      524288     files\n"
        "Max locked memory         unlimited  unlimited  bytes\n");
  }

  static std::string node_text(const std::string& node) {
    return on_controller({"scontrol", "--oneliner", "show", "node", node});
  }
  static bool is_drained(const std::string& node) {
    return node_text(node).find("+DRAIN") != std::string::npos;
  }
  static std::size_t runs_of(const std::string& node) {
    return text_of(kState / ("runs-" + node)).size();
  }
  /// Waits for a run that began after now.
  static bool ran_again(const std::string& node, std::chrono::seconds limit) {
    const std::size_t before = runs_of(node);
    return eventually([&] { return runs_of(node) >= before + 4; }, limit);
  }
};

TEST_F(HealthCheck, DrainsExactlyTheFaultyNodeAndPutsItBackAfterACleanRun) {
  constexpr std::chrono::seconds kLimit(60);
  for (const char* node : {"n1", "n2", "n3", "n4"})
    ASSERT_TRUE(eventually([&] { return runs_of(node) > 0; }, kLimit)) << node;
  for (const char* node : {"n1", "n2", "n3", "n4"}) EXPECT_FALSE(is_drained(node)) << node;

  plant("n2", std::string(kQuiet) +
                  "[ 99.0] NVRM: Xid (PCI:0000:53:00): 54, pid=1, power is not connected\n");
  ASSERT_TRUE(eventually([] { return is_drained("n2"); }, kLimit)) << node_text("n2");
  EXPECT_NE(node_text("n2").find("Reason=muster kernel-log GPU 0000 53 00 Xid 54"),
            std::string::npos)
      << node_text("n2");
  for (const char* node : {"n1", "n3", "n4"}) EXPECT_FALSE(is_drained(node)) << node;

  // A run that sees nothing is no clean run.
  plant("n2", "");
  ASSERT_TRUE(ran_again("n2", kLimit));
  EXPECT_TRUE(is_drained("n2")) << node_text("n2");

  plant("n2", kQuiet);
  EXPECT_TRUE(eventually([] { return !is_drained("n2"); }, kLimit)) << node_text("n2");

  // What an operator drained is the operator's to put back.
  on_controller({"scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=disk swap"});
  ASSERT_TRUE(ran_again("n3", kLimit));
  EXPECT_TRUE(is_drained("n3")) << node_text("n3");
}

}  // namespace
}  // namespace muster::launch

int main(int argc, char** argv) {
  return muster::testbed::run_tests(argc, argv);
}
