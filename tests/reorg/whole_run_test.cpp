// The program on a generated repository of 1,472 files, judged by git: history, blame and bytes go
// on, branches come over, the memory that it takes.
#include <cstdlib>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "sample_repository.h"
#include "shell.h"
#include "testing.h"

namespace muster::reorg::testing {
namespace {

class SampleRun : public ::testing::Test {
 protected:
  explicit SampleRun(std::size_t files) : sample_(1472, files), root_(scratch_.path().string()) {
    program_ = (muster::testing::binary_dir() / "bin/muster").string();
    std::ofstream(root_ + "/plan.yaml") << layout_.plan();
    const Texts texts = sample_.texts({});
    for (const auto& [path, text] : texts) write(path, text);
    // Twins that history has told apart, line ends, no final line feed, a mode, a link.
    for (const char* twin : {"0.docs/t.sh", "3.test_cases/pytorch/vllm/t.sh"})
      write(twin, "line 1\nline 2\n");
    write("2.ami_and_containers/crlf.yaml", "# see 0.docs/t.sh\r\nx: 1\r\n");
    write("2.ami_and_containers/open.md", "[t](../0.docs/t.sh)");
    EXPECT_EQ(shell("git init -q -b main . && git config user.name a && git config user.email a@b "
                    "&& chmod +x 0.docs/t.sh && ln -s ../0.docs/t.sh micro-benchmarks/link && "
                    "git add . && git commit -qm one && git tag v1"),
              "");
    write("0.docs/t.sh", "line 1\nline 2\nline 3\n");
    EXPECT_EQ(shell("git -c user.name=b commit -qam two"), "");
    write("3.test_cases/pytorch/vllm/t.sh", "line 1\nline 2\nline 3\n");
    EXPECT_EQ(shell("git -c user.name=c commit -qam three"), "");
  }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path place = scratch_.path() / "repo" / path;
    std::filesystem::create_directories(place.parent_path());
    std::ofstream(place) << text;
  }
  std::string shell(const std::string& command) const {
    return output_of("cd " + root_ + "/repo && " + command);
  }
  Ended muster(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {program_, "reorg"});
    arguments.insert(arguments.end(), {"--repo", root_ + "/repo"});
    return run(arguments);
  }
  std::vector<std::string> lines_of(const std::string& command) const {
    std::vector<std::string> result;
    const std::string text = shell(command);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      result.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return result;
  }

  const muster::testing::TemporaryDirectory scratch_;
  const SampleLayout layout_ = rfc_layout();
  const SampleRepository sample_;
  std::string root_, program_;
};

struct WholeRun : SampleRun {
  WholeRun() : SampleRun(1464) {}  // with the fixture's own, 1,472
};
struct SmallRun : SampleRun {
  SmallRun() : SampleRun(200) {}
};

// A7, A8, A17.
TEST_F(WholeRun, KeepsHistoryAndBytes) {
  const auto before = lines_of("git ls-tree -r main");
  ASSERT_EQ(before.size(), 1472U);
  const std::string start = lines_of("git rev-parse main").at(0);
  const Ended ended = muster({"apply", root_ + "/plan.yaml"});
  ASSERT_EQ(ended.code, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(ended.peak_kib, 64L * 1024);
#endif

  // Every commit that moves does nothing else, and git finds each rename.
  std::size_t renames = 0;
  for (const std::string& line :
       lines_of("git log --format= --raw --no-abbrev -M -l0 --grep '^Move' v1..main")) {
    EXPECT_NE(line.find(" R100\t"), std::string::npos) << line;
    ++renames;
  }
  EXPECT_GT(renames, 1200U);

  std::map<std::string, std::string> now;  // path -> mode, type, id
  for (const std::string& line : lines_of("git ls-tree -r main"))
    now[line.substr(line.find('\t') + 1)] = line.substr(0, line.find('\t'));
  const Texts texts = sample_.texts({}), gold = sample_.texts(layout_);
  std::size_t edited = 0;
  for (const std::string& line : before) {
    const std::string path = line.substr(line.find('\t') + 1),
                      was = line.substr(0, line.find('\t'));
    const auto found = now.find(layout_.of(path));
    ASSERT_NE(found, now.end()) << path;
    EXPECT_EQ(found->second.substr(0, 6), was.substr(0, 6)) << path;  // the mode
    const auto text = texts.find(path);
    if (text == texts.end()) continue;
    const bool same = text->second == gold.at(found->first);
    EXPECT_EQ(found->second == was, same) << path;
    edited += same ? 0 : 1;
  }
  EXPECT_GT(edited, 300U);
  EXPECT_EQ(shell("git show main:ami_and_containers/crlf.yaml"), "# see docs/t.sh\r\nx: 1\r\n");
  EXPECT_EQ(shell("git show main:ami_and_containers/open.md"), "[t](../docs/t.sh)");
  EXPECT_EQ(shell("git show main:micro-benchmarks/link"), "../docs/t.sh");
  EXPECT_EQ(shell("git status --porcelain"), "");

  // Blame, through the edits: of the twins, and of every 40th file.
  std::size_t asked = 0;
  for (const std::string& line : before) {
    const std::string path = line.substr(line.find('\t') + 1);
    const bool twin = path.find("/t.sh") != std::string::npos;
    if (line.rfind("120000", 0) == 0 || (!twin && ++asked % 40 != 0)) continue;
    const auto blame = [&](const std::string& at, const std::string& place) {
      return shell("git blame -s --root --abbrev=40 --ignore-revs-file .git-blame-ignore-revs " +
                   at + " -- '" + place + "' | cut -d' ' -f1");
    };
    EXPECT_EQ(blame("main", layout_.of(path)), blame(start, path)) << path;
  }
}

// A15: whatever the threads and however often, the same tree.
TEST_F(SmallRun, IsTheSameEachTime) {
  std::set<std::string> trees;
  for (int i = 0; i < 10; ++i) {
    const std::string branch = "run" + std::to_string(i);
    const char* threads = i % 3 == 0 ? "1" : i % 3 == 1 ? "2" : "8";
    ASSERT_EQ(
        muster({"apply", root_ + "/plan.yaml", "--branch", branch, "--threads", threads}).code, 0);
    // The commit before the last: that one names another by its id, which holds the time.
    trees.insert(shell("git rev-parse '" + branch + "~1^{tree}'"));
  }
  EXPECT_EQ(trees.size(), 1U);
  EXPECT_EQ(shell("git status --porcelain"), "");
}

// A12: branches that were begun before come over, with nothing left at an old path.
TEST_F(SmallRun, BranchesComeOver) {
  constexpr int kBranches = 8;
  for (int i = 0; i < kBranches; ++i) {
    const std::string name = "work" + std::to_string(i);
    shell("git checkout -q -b " + name + " v1");
    write("3.test_cases/pytorch/new" + name + "/README.md",
          "[d](../../../0.docs/t.sh)\n\nbash 3.test_cases/pytorch/vllm/t.sh\n");
    write("4.validation/2.gpu-healthcheck/" + name + ".md", "new\n");
    shell("git add . && git commit -qm 'add " + name +
          "' && git rm -q 2.ami_and_containers/open.md "
          "&& git commit -qm 'remove'");
  }
  ASSERT_EQ(shell("git checkout -q main"), "");
  ASSERT_EQ(muster({"apply", root_ + "/plan.yaml"}).code, 0);
  for (int i = 0; i < kBranches; ++i) {
    const std::string name = "work" + std::to_string(i);
    ASSERT_EQ(muster({"port", name, root_ + "/plan.yaml", "--to", "new" + name}).code, 0) << name;
    const std::string place = "test_cases/training/pytorch/new" + name + "/README.md";
    EXPECT_EQ(shell("git show new" + name + ":" + place),
              "[d](../../../../docs/t.sh)\n\nbash test_cases/inference/vllm/t.sh\n");
    EXPECT_EQ(shell("git diff --name-status main new" + name),
              "D\tami_and_containers/open.md\nA\t" + place + "\nA\tvalidation/gpu-healthcheck/" +
                  name + ".md\n");
  }
  EXPECT_EQ(shell("git merge -q newwork0 && git merge -q newwork1 -m both && "
                  "git ls-files '3.*' '0.*' '4.*'"),
            "");
}

// A18: what points in from outside says the new paths; what is pinned, and forks, say what they
// did.
TEST_F(SmallRun, ConsumersFollow) {
  const std::filesystem::path site = scratch_.path() / "site";
  std::filesystem::create_directory(site);
  std::string before, gold;
  std::size_t number = 0;
  for (const auto& [path, text] : sample_.texts({})) {
    if (++number % 5 != 0 || path.front() == '.') continue;
    const std::string moved = layout_.of(path);
    const auto line = [&](const std::string& head, bool fixed = false) {
      before += head + path + "\n\n";
      gold += head + (fixed ? path : moved) + "\n\n";
    };
    line("curl -O https://raw.githubusercontent.com/acme/widgets/main/");
    line("https://github.com/acme/widgets/blob/main/");
    line("https://github.com/acme/widgets/blob/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567/", true);
    line("https://raw.githubusercontent.com/acme/widgets/refs/tags/v1/", true);
    line("https://github.com/someone/widgets/blob/main/", true);
    const auto fence = [](const std::string& directory) {
      return "```\ngit clone https://github.com/acme/widgets.git\ncd widgets/" + directory +
             "\n```\n\n";
    };
    before += fence(std::string(parent_of(path)));
    gold += fence(std::string(parent_of(moved)));
  }
  std::ofstream(site / "page.md") << before;
  ASSERT_EQ(muster({"consumers", root_ + "/plan.yaml", "--from", "site=" + site.string(), "--pin",
                    "v1", "--write", "new"})
                .code,
            0);
  EXPECT_EQ(output_of("cat " + (site / "page.md").string()), gold);
}

}  // namespace
}  // namespace muster::reorg::testing
