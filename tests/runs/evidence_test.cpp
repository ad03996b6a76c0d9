#include "runs/evidence.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "runs/fixture.h"
#include "testing.h"

namespace muster::runs {
namespace {

namespace fs = std::filesystem;
using muster::testing::TemporaryDirectory;
using testing::good_run;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void spill(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// A run directory as it is at the end, with names that need care.
std::vector<std::string> make_run(const fs::path& run) {
  const std::vector<std::string> files{"logs/launcher.out",
                                       "logs/rank-0.log",
                                       "manifest.yaml",
                                       "metrics/rank-00000.jsonl",
                                       "out/checkpoints/step-00000001/a b.bin",
                                       "rendered/line\nfeed\\x"};
  for (const std::string& file : files) {
    spill(run / file, "content of " + file);
  }
  spill(run / ".lock", "12 host");
  spill(run / "report.html", "page");
  return files;
}

TEST(Versions, SayWhatRanksDisagreeOn) {
  auto ranks = good_run({.world = 3});
  testing::event(ranks[1], "start")["versions"]["libtorch"] = "2.9.0";
  const auto seen = versions(ranks);
  EXPECT_FALSE(seen["muster"].get<std::string>().empty());
  EXPECT_FALSE(seen["system"]["kernel"].get<std::string>().empty());
  EXPECT_EQ(seen["trainer"]["mpi"], "Open MPI 4.1.4");
  ASSERT_EQ(seen["trainer"]["libtorch"].size(), 2U);
  EXPECT_EQ(seen["trainer"]["libtorch"][0],
            (nlohmann::json{{"version", "1.13.0"}, {"ranks", "0, 2"}}));
}

TEST(Topology, HasTheNodesOfTheRanks) {
  const auto seen = topology(good_run({.world = 3}));
  ASSERT_EQ(seen["nodes"].size(), 3U);
  EXPECT_EQ(seen["nodes"][1]["host"], "node-b");
  EXPECT_EQ(seen["nodes"][1]["ranks"][0]["rank"], 1);
  EXPECT_FALSE(seen["nodes"][1].contains("cpu")) << "what only node-b knows is absent";
  const auto here = topology({});
  ASSERT_EQ(here["nodes"].size(), 1U);
  EXPECT_GT(here["nodes"][0]["memory_bytes"], 0);
  EXPECT_GT(here["nodes"][0]["cpu"]["threads"], 0);
}

TEST(Secrets, AreInNoArtefact) {
  TemporaryDirectory directory;
  const fs::path run = directory.path();
  const std::string token = "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";
  const std::string password = "correct-horse-battery";
  ASSERT_EQ(setenv("HF_TOKEN", token.c_str(), 1), 0);
  ASSERT_EQ(setenv("DB_PASSWORD", password.c_str(), 1), 0);
  make_run(run);
  spill(run / "manifest.yaml", "env:\n  HF_TOKEN: " + token + "\n");
  spill(run / "rendered/job.sbatch", "export DB_PASSWORD=" + password + "\n");
  spill(run / "command.json", R"(["muster", "--env", "HF_TOKEN=)" + token + "\"]");
  spill(run / "logs/rank-0.log", "step 1\nlogin with " + password + " failed\n");
  spill(run / "metrics/rank-00000.jsonl",
        R"({"event":"error","message":"token )" + token + "\"}\n");
  spill(run / "binary", std::string("\0\1", 2) + "data");
  ASSERT_TRUE(write_evidence(run, {}).ok());
  const auto changed = scrub(run, environment_redactor());
  unsetenv("HF_TOKEN");
  unsetenv("DB_PASSWORD");
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(*changed,
            (std::vector<std::string>{"command.json", "logs/rank-0.log", "manifest.yaml",
                                      "metrics/rank-00000.jsonl", "rendered/job.sbatch"}));
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    if (entry.is_regular_file()) {
      ++files;
      const std::string text = slurp(entry.path());
      EXPECT_EQ(text.find(token), std::string::npos) << entry.path();
      EXPECT_EQ(text.find(password), std::string::npos) << entry.path();
    }
  }
  EXPECT_GT(files, 10);
  EXPECT_NE(slurp(run / "logs/rank-0.log").find("step 1\nlogin with"), std::string::npos)
      << "the rest stays";
  EXPECT_EQ(slurp(run / "binary").size(), 6U);
  EXPECT_EQ(nlohmann::json::parse(slurp(run / "environment.json"))["HF_TOKEN"], "REDACTED");
}

TEST(Checksums, AreReadBySha256sum) {
  TemporaryDirectory directory;
  const auto files = make_run(directory.path());
  ASSERT_TRUE(write_checksums(directory.path()).ok());
  const std::string text = slurp(directory.path() / "checksums.sha256");
  ASSERT_TRUE(write_checksums(directory.path()).ok());
  EXPECT_EQ(slurp(directory.path() / "checksums.sha256"), text) << "not of itself";

  Command command;
  command.argv = {"sha256sum", "--check", "--strict", "checksums.sha256"};
  command.directory = directory.path();
  command.time_limit = std::chrono::seconds(30);
  const auto result = real_process_runner().run(command);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->exit_code, 0) << result->out << result->err;

  const auto sums = parse_checksums(text, "c");
  ASSERT_TRUE(sums.ok());
  std::vector<std::string> names;
  for (const Checksum& sum : *sums) {
    names.push_back(sum.path);
  }
  EXPECT_EQ(names, files) << "sorted, without lock and report";
}

TEST(Checksums, ABadLineIsLocated) {
  const std::string good = std::string(64, 'a') + "  x\n";
  EXPECT_TRUE(parse_checksums(good, "c").ok());
  EXPECT_TRUE(parse_checksums("", "c").ok());
  for (const std::string& bad :
       {std::string("x\n"), std::string(64, 'g') + "  x\n", std::string(63, 'a') + "  x\n",
        std::string(64, 'a') + "  \n", std::string("\n")}) {
    const auto sums = parse_checksums(good + bad, "c");
    ASSERT_FALSE(sums.ok()) << bad;
    EXPECT_EQ(sums.findings()[0].where, (Position{"c", 2, 1}));
  }
}

// Every file in turn: changed by one bit, removed; and one that was not there.
TEST(Verify, FindsWhatWasChangedMissingOrAdded) {
  TemporaryDirectory directory;
  const fs::path run = directory.path();
  const auto files = make_run(run);
  ASSERT_TRUE(write_checksums(run).ok());
  ASSERT_TRUE(verify(run).ok());
  EXPECT_TRUE(verify(run)->empty());
  for (const std::string& file : files) {
    const std::string text = slurp(run / file);
    std::string flipped = text;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
    spill(run / file, flipped);
    auto findings = *verify(run);
    ASSERT_EQ(findings.size(), 1U) << file;
    EXPECT_EQ(findings[0].rule, "run-file-changed");
    EXPECT_EQ(findings[0].where.file, (run / file).string());
    fs::remove(run / file);
    findings = *verify(run);
    ASSERT_EQ(findings.size(), 1U) << file;
    EXPECT_EQ(findings[0].rule, "run-file-missing");
    spill(run / file, text);
  }
  spill(run / "new", "");
  const auto findings = *verify(run);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "run-file-extra");
  fs::remove(run / "checksums.sha256");
  EXPECT_FALSE(verify(run).ok()) << "nothing to compare with is no pass";
}

}  // namespace
}  // namespace muster::runs
