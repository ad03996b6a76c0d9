// The numbers that a reorganisation must reach, on generated repositories whose right answers the
// generator knows: every line of every file is compared with what it must be.
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "reorg/repair.h"
#include "sample_repository.h"

namespace muster::reorg::testing {
namespace {

std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

struct Score {
  std::size_t needed = 0;  ///< lines that must change
  std::size_t right = 0;   ///< of these, as they must be
  std::size_t other = 0;   ///< changed lines that must not, or otherwise
  std::string wrong;       ///< some of them
};

Score score(const Texts& before, const SampleLayout& layout, const Texts& gold,
            const Texts& after) {
  Score result;
  for (const auto& [path, text] : before) {
    const auto now = after.find(layout.of(path));
    if (now == after.end()) {
      result.wrong += path + " is nowhere\n";
      ++result.other;
      continue;
    }
    const auto old_lines = lines_of_text(text), wanted = lines_of_text(gold.at(now->first)),
               lines = lines_of_text(now->second);
    if (old_lines.size() != lines.size()) {
      result.wrong += path + " has another number of lines\n";
      ++result.other;
      continue;
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool needs = old_lines[i] != wanted[i];
      if (needs) ++result.needed;
      if (needs && lines[i] == wanted[i]) ++result.right;
      if (lines[i] == wanted[i] || (needs && lines[i] == old_lines[i])) continue;
      ++result.other;
    }
    for (std::size_t i = 0; i < lines.size() && result.wrong.size() < 4000; ++i) {
      if (lines[i] == wanted[i]) continue;
      result.wrong += path + ":" + std::to_string(i + 1) + ": " + old_lines[i] + "\n  is     " +
                      lines[i] + "\n  wanted " + wanted[i] + "\n";
    }
  }
  return result;
}

struct Layouts : ::testing::TestWithParam<std::pair<const char*, SampleLayout>> {};

// A1, A3, A5, A6: every reference that must change is written as it must be, nothing else is
// touched, and what is left to people is listed with its place and a reason.
TEST_P(Layouts, EveryLineIsAsItMustBe) {
  const SampleLayout& layout = GetParam().second;
  const SampleRepository sample(20261130, 400);
  const Texts before = sample.texts({}), gold = sample.texts(layout);
  Case c(layout.plan(), {before});
  c.names = {{{"acme/widgets"}, {"main"}, {"v1"}}};
  c.run();
  ASSERT_FALSE(c.moves.collided) << c.said();
  ASSERT_GT(sample.references(), 600U);
  const Score found = score(before, layout, gold, c.after);
  EXPECT_GT(found.needed, 300U);
  EXPECT_EQ(found.right, found.needed) << found.wrong;
  EXPECT_EQ(found.other, 0U) << found.wrong;

  std::size_t proposed = 0;
  for (const auto& [file, line] : sample.unsure()) {
    const auto at = std::find_if(
        c.rewriting.proposals.begin(), c.rewriting.proposals.end(),
        [&](const Placed& each) { return each.path.str() == file && each.line == line; });
    if (at == c.rewriting.proposals.end()) continue;  // it stays right
    ++proposed;
    EXPECT_FALSE(at->reference.reason.empty()) << file << ":" << line;
    EXPECT_TRUE(at->reference.replacement.has_value()) << file << ":" << line;
  }
  EXPECT_GT(proposed, 3U);
  EXPECT_EQ(proposed, c.rewriting.proposals.size());
  EXPECT_GE(static_cast<double>(found.right), 0.98 * static_cast<double>(found.needed + proposed));
}

// A2: rescanned, the new tree holds no dead reference that was not dead before.
TEST_P(Layouts, NothingIsNewlyBroken) {
  const SampleLayout& layout = GetParam().second;
  const Texts before = SampleRepository(7, 400).texts({});
  Case moved(layout.plan(), {before});
  moved.names = {{{"acme/widgets"}, {"main"}, {"v1"}}};
  moved.run();
  Case still(SampleLayout().plan() + "  - {keep: nothing}\n", {moved.after});
  still.names = moved.names;
  still.run();
  EXPECT_GT(moved.rewriting.dead.size(), 10U);
  EXPECT_EQ(still.rewriting.dead.size(), moved.rewriting.dead.size());
  EXPECT_TRUE(still.rewriting.edits.empty());
}

INSTANTIATE_TEST_SUITE_P(Acceptance, Layouts,
                         ::testing::Values(std::pair("Rfc", rfc_layout()),
                                           std::pair("Examples", examples_layout())),
                         [](const auto& each) { return std::string(each.param.first); });

// A4: one mass rename after another, as the history of a repository has them, leaves nothing stale.
TEST(Acceptance, RenamesInTurnLeaveNothingStale) {
  const SampleRepository sample(4, 300);
  const std::vector<SampleLayout> renames = {
      {{}, true, {}},
      {{{"architectures/sagemaker-hyperpod", "architectures/hyperpod/slurm"},
        {"architectures/sagemaker-hyperpod-eks", "architectures/hyperpod/eks"}},
       false,
       {}},
      {{{"test_cases/pytorch", "cases"}, {"test_cases", "cases"}, {"validation", "checks/v2"}},
       false,
       {}},
      {{{"cases/FSDP", "cases/fsdp"}, {"docs", "site/static"}, {"micro-benchmarks", "docs/bench"}},
       false,
       {}}};
  Texts now = sample.texts({});
  SampleLayout done;
  for (const SampleLayout& rename : renames) {
    SampleLayout after = rename;
    after.earlier = done.earlier;
    done.earlier.push_back(rename);
    Case c(rename.plan(), {now});
    c.names = {{{"acme/widgets"}, {"main"}, {"v1"}}};
    c.run();
    ASSERT_FALSE(c.moves.collided) << c.said();
    now = c.after;
    const Texts gold = sample.texts(after);
    std::size_t stale = 0;
    std::string wrong;
    for (const auto& [path, text] : gold) {
      if (now.at(path) == text) continue;
      const auto wanted = lines_of_text(text), lines = lines_of_text(now.at(path));
      ASSERT_EQ(wanted.size(), lines.size()) << path;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i] == wanted[i]) continue;
        if (lines[i].find("${BASE}") != std::string::npos) continue;  // left to people
        ++stale;
        wrong +=
            path + ":" + std::to_string(i + 1) + ": " + lines[i] + "\n  wanted " + wanted[i] + "\n";
      }
    }
    EXPECT_EQ(stale, 0U) << wrong.substr(0, 4000);
    EXPECT_GT(c.rewriting.edits.size(), 50U);
  }
}

// A11: dead references are repaired where renames of the history explain them, and no others: a
// file of the same name elsewhere explains nothing.
TEST(Acceptance, RepairsWhatHistoryExplains) {
  std::mt19937 random(11);
  Texts texts;
  std::vector<Rename> renames, earlier;
  std::map<std::string, std::string> wanted;  // file of a link -> where it must lead after the plan
  const SampleLayout layout = rfc_layout();
  const std::vector<std::string> areas = {"0.docs", "1.architectures/1.vpc_network",
                                          "3.test_cases/pytorch/FSDP", "3.test_cases/pytorch/vllm"};
  for (int i = 0; i < 120; ++i) {
    const std::string number = std::to_string(i);
    const std::string file = areas[random() % areas.size()] + "/now/" + number + ".yaml";
    const std::string page = areas[random() % areas.size()] + "/pages/" + number + ".md";
    texts[file] = "content " + number + "\n";
    std::string named = "old/first/" + number + ".yaml";
    const std::size_t kind = random() % 4;
    if (kind == 0) {  // renamed once
      renames.push_back({named, file, {}});
    } else if (kind == 1) {  // twice
      earlier.push_back({named, "old/second/" + number + ".yaml", {}});
      renames.push_back({"old/second/" + number + ".yaml", file, {}});
    } else if (kind == 2) {  // never: the name alone is the same
      named = "elsewhere/" + number + ".yaml";
    } else {  // to what is gone as well
      renames.push_back({named, "old/gone/" + number + ".yaml", {}});
    }
    texts[page] = "[text](" + from_directory(std::string(parent_of(page)), named) + ")\n";
    wanted[page] = kind < 2 ? layout.of(file) : "";
  }
  Case c(layout.plan(), {texts});
  c.run();
  earlier.insert(earlier.end(), renames.begin(), renames.end());
  const RenameChains chains(std::move(earlier), c.world().tree(0));
  ASSERT_EQ(c.rewriting.dead.size(), wanted.size());
  const auto repairs = find_repairs(c.world(), chains, c.rewriting.dead);
  std::set<std::string> repaired;
  for (const Placed& repair : repairs) {
    const std::string place(parent_of(layout.of(repair.path.str())));
    EXPECT_EQ(resolve(place, *repair.reference.replacement).path, wanted.at(repair.path.str()))
        << repair.path;
    repaired.insert(repair.path.str());
  }
  for (const auto& [page, target] : wanted)
    EXPECT_EQ(repaired.count(page), target.empty() ? 0U : 1U);
  EXPECT_GT(repaired.size(), 40U);
}

}  // namespace
}  // namespace muster::reorg::testing
