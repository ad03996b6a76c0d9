// Random plans on random repositories, through git: a plan is a layout or is refused; what was
// applied breaks nothing and can be undone.
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "base/file_system.h"
#include "random_tree.h"
#include "reorg/apply.h"
#include "reorg/verify.h"
#include "shell.h"
#include "testing.h"

namespace muster::reorg::testing {
namespace {

class RandomPlans : public ::testing::Test {
 protected:
  RandomPlans() {
    const std::string made =
        output_of("git init -q --bare -b main " + path("repo") + " && git -C " + path("repo") +
                  " config user.name a && git -C " + path("repo") + " config user.email a@b");
    EXPECT_EQ(made, "");
    auto opened = Repository::open(path("repo"));
    EXPECT_TRUE(opened.ok());
    repository_ = std::make_unique<Repository>(std::move(*opened));
  }

  std::string path(const char* name) const { return (scratch_.path() / name).string(); }

  /// One commit without parents on main.
  ObjectId commit(const Texts& texts) {
    std::vector<File> files;
    for (const auto& [file, text] : texts) files.push_back({file, kModeFile, blob(text)});
    Commit fresh;
    fresh.tree = *repository_->write_tree(files);
    fresh.author = fresh.committer = {"a", "a@b", 1'000'000'000, 0};
    fresh.message = "one\n";
    const ObjectId id = *repository_->write_commit(fresh);
    const auto set = repository_->change_references(
        {{"refs/heads/main", repository_->reference("refs/heads/main"), id}}, "test");
    EXPECT_TRUE(set.ok());
    return id;
  }
  ObjectId blob(const std::string& text) { return *repository_->write_blob(text); }

  Result<std::unique_ptr<Workspace>> open(const std::string& plan) {
    std::ofstream(path("plan.yaml")) << plan;
    return open_workspace(real_file_system(), {path("plan.yaml"), path("repo"), "", false});
  }

  const muster::testing::TemporaryDirectory scratch_;
  std::unique_ptr<Repository> repository_;
};

struct RandomPlan {
  std::string text;
  bool drops = false;
};

/// Moves to fresh places, and sometimes onto each other, onto what is there, away.
RandomPlan random_plan(RandomTree& tree) {
  RandomPlan plan{std::string(kHead) + "rules:\n", false};
  const auto line = [&](const char* verb, const std::string& from, const std::string& to) {
    plan.text += std::string("  - {") + verb + ": \"" + from + "\"" +
                 (to.empty() ? "" : ", to: \"" + to + "\"") + "}\n";
  };
  std::set<std::string> from;
  std::string last = "new0";
  for (const auto& [path, to] : tree.moves()) {
    from.insert(path);
    const std::size_t kind = tree.below(10);
    line("move", path, kind == 0 ? last : kind == 1 ? tree.texts().begin()->first : to);
    last = to;
  }
  const std::string some =
      std::next(tree.texts().begin(), static_cast<std::ptrdiff_t>(tree.below(tree.texts().size())))
          ->first;
  const std::size_t kind = tree.below(8);
  if (kind == 0 && from.insert(some).second) {
    line("drop", some, "");
    plan.drops = true;
  }
  if (kind == 1 && from.insert(some).second) line("keep", some, "");
  if (kind == 2) plan.text += "  - {rename: '^\\d+[._]\\s*', to: ''}\n";
  return plan;
}

/// Whether a set of paths is a tree that every file system can hold.
bool is_tree(const std::vector<std::string>& paths) {
  std::set<std::string> files, directories;
  std::map<std::string, std::string> spelling;
  for (const std::string& path : paths) {
    if (!files.insert(path).second) return false;
    for (std::string_view at = path; !at.empty(); at = parent_of(at)) {
      if (at.size() < path.size()) directories.insert(std::string(at));
      const auto known = spelling.emplace(lower(at), std::string(at)).first;
      if (known->second != at) return false;
    }
  }
  return std::none_of(files.begin(), files.end(),
                      [&](const std::string& file) { return directories.count(file) > 0; });
}

TEST_F(RandomPlans, AreLayoutsOrRefusedAndBreakNothingAndAreUndone) {
  std::size_t collided = 0, applied = 0, refused = 0;
  constexpr unsigned kPlans = 200;
  for (unsigned seed = 0; seed < kPlans; ++seed) {
    SCOPED_TRACE(seed);
    RandomTree tree(seed, seed % 2 == 0);
    const ObjectId before = commit(tree.texts());
    const RandomPlan plan = random_plan(tree);
    auto workspace = open(plan.text);
    ASSERT_TRUE(workspace.ok()) << to_string(workspace.findings().front()) << plan.text;
    Workspace& opened = **workspace;
    ASSERT_TRUE(opened.moves.collided || !has_errors(opened.moves.findings))
        << to_string(opened.moves.findings.front());
    std::vector<std::string> images;
    for (const auto& image : opened.moves.layout.sides[0].images) {
      if (image) images.push_back(*image);
    }
    ASSERT_EQ(opened.moves.collided, !is_tree(images)) << plan.text;
    const auto tip = [&] { return repository_->reference("refs/heads/main"); };
    if (opened.moves.collided) {
      ++collided;
      continue;
    }
    const auto rewriting = find_rewriting(*opened.world, opened.reader(), {1});
    ASSERT_TRUE(rewriting.ok());
    const auto done = apply(opened, *rewriting, {"", 1, true});
    if (!done) {
      // Only what was left out can be missed, or a text that people have to decide on.
      ++refused;
      EXPECT_EQ(done.findings().back().rule, "reorg-refused");
      EXPECT_TRUE(plan.drops || !rewriting->proposals.empty())
          << to_string(done.findings().front()) << plan.text;
      EXPECT_EQ(tip(), std::optional(before));
      continue;
    }
    if (!done->changed()) continue;
    ++applied;
    const auto verified = verify(path("repo"), {});
    ASSERT_TRUE(verified.ok()) << to_string(verified.findings().front());
    EXPECT_TRUE(verified->broken.empty())
        << to_string(findings_of(verified->broken, Severity::kError, "x", "is broken").front());
    const auto after = repository_->tree_of(done->after);
    ASSERT_TRUE(after.ok());
    for (const std::string& image : images) EXPECT_NE(after->file(image), nullptr) << image;
    const auto undone = undo(*repository_);
    ASSERT_TRUE(undone.ok()) << to_string(undone.findings().front());
    EXPECT_EQ(tip(), std::optional(before));
  }
  // The draw must have drawn something of each.
  EXPECT_GT(collided, 10U);
  EXPECT_GT(applied, 100U);
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace muster::reorg::testing
