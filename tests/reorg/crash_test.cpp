// kill -9 at any point leaves the branch at its old or its new commit, and a repository that is
// whole.
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "shell.h"
#include "testing.h"

namespace muster::reorg::testing {
namespace {

TEST(Crash, LeavesTheOldOrTheNewBranch) {
  const muster::testing::TemporaryDirectory scratch;
  const std::string root = scratch.path().string();
  const std::string program = (muster::testing::binary_dir() / "bin/muster").string();
  ASSERT_EQ(::access(program.c_str(), X_OK), 0) << program;
  std::ofstream(root + "/plan.yaml")
      << "apiVersion: muster/v1\nkind: Reorganisation\nname: crash\nrules:\n"
         "  - {move: 1.arch, to: arch}\n  - {move: 2.docs, to: arch/docs}\n";
  std::ofstream(root + "/make.sh")
      << "set -e\ngit init -q -b main base\ncd base\ngit config user.name a\n"
         "git config user.email a@b\nmkdir -p 1.arch 2.docs\n"
         "for i in $(seq 40); do echo \"[x](../2.docs/$i.md)\" >1.arch/$i.md; "
         "echo \"[y](../1.arch/$i.md) $i\" >2.docs/$i.md; done\ngit add .\ngit commit -qm one\ngit "
         "gc -q\n";
  ASSERT_EQ(output_of("cd " + root + " && sh make.sh"), "");
  const std::string before = output_of("git -C " + root + "/base rev-parse main");

  const std::vector<std::string> apply = {program,  "reorg",       "apply", root + "/plan.yaml",
                                          "--repo", root + "/work"};
  const auto copy = [&] {
    output_of("rm -rf " + root + "/work && cp -r " + root + "/base " + root + "/work");
  };
  copy();
  const auto began = std::chrono::steady_clock::now();
  int status = 0;
  ::waitpid(start(apply), &status, 0);
  ASSERT_EQ(status, 0);
  const auto whole = std::chrono::steady_clock::now() - began;
  const std::string whole_tree = output_of("git -C " + root + "/work rev-parse main:arch");

  std::mt19937 random(20261130);
  int old_left = 0, new_left = 0;
  constexpr int kPoints = 50;
  for (int i = 0; i < kPoints; ++i) {
    copy();
    const pid_t child = start(apply);
    std::this_thread::sleep_for(whole * (random() % 1000) / 1000);
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    const std::string after = output_of("git -C " + root + "/work rev-parse main");
    if (after == before) {
      ++old_left;
    } else {
      ++new_left;
      // The trees of .git-blame-ignore-revs differ by the commit's time; all else is the same.
      const std::string trailer = output_of(
          "git -C " + root + "/work log -1 --format=%B main | grep '^Reorganised-from: '");
      EXPECT_EQ(trailer, "Reorganised-from: " + before);
      EXPECT_EQ(output_of("git -C " + root + "/work ls-tree -r main 1.arch 2.docs"), "");
    }
    if (i % 5 != 0) continue;  // what follows takes longer than all else
    EXPECT_EQ(output_of("git -C " + root + "/work fsck --no-dangling --no-progress"), "")
        << "after " << i;
    // What was left in the repository is in nobody's way; a checkout that was cut is finished
    // first.
    EXPECT_EQ(output_of("cd " + root +
                        "/work && find .git -name '*.lock' -delete && git reset -q --hard && git "
                        "reset -q --hard " +
                        before),
              "");
    EXPECT_EQ(run(apply).code, 0) << "after " << i;
    EXPECT_EQ(output_of("git -C " + root + "/work rev-parse main:arch"), whole_tree);
  }
  EXPECT_EQ(old_left + new_left, kPoints);
  EXPECT_GT(old_left, 0);
}

}  // namespace
}  // namespace muster::reorg::testing
