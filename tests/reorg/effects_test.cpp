// P11: whether git ignores a file, which attributes it has and who owns it is the same before and
// after a move, or it is reported. git itself says what it ignores and which attributes it gives.
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "random_tree.h"
#include "shell.h"
#include "testing.h"

namespace muster::reorg::testing {
namespace {

/// A random tree with rules for its paths, at the root and in a directory of it.
class RuledTree {
 public:
  explicit RuledTree(unsigned seed) : tree_(seed, false), texts_(tree_.texts()) {
    for (const auto& [path, text] : tree_.texts()) paths_.push_back(path);
    std::string& ignore = texts_[".gitignore"];
    std::string& attributes = texts_[".gitattributes"];
    std::string& owners = texts_["CODEOWNERS"];
    ignore = "*.tmp\n";
    owners = "*.md @writers\n";
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string directory = some_directory();
      const std::string name(name_of(directory));
      const std::size_t form = tree_.below(5);
      ignore += form == 0   ? "/" + directory + "/\n"
                : form == 1 ? "!" + directory + "/\n"
                : form == 2 ? name + "/\n"
                : form == 3 ? directory + "/*.sh\n"
                            : "!*.sh\n";
      attributes += form == 0   ? "/" + directory + "/** vendored\n"
                    : form == 1 ? directory + "/*.md -text\n"
                    : form == 2 ? "*.sh eol=lf\n"
                    : form == 3 ? "*.md !text diff=page\n"
                                : directory + "/** text\n";
      owners += form == 0   ? "/" + directory + "/ @team" + std::to_string(i) + "\n"
                : form == 1 ? "*.sh @shells @team1\n"
                : form == 2 ? name + "/ @by-name\n"
                : form == 3 ? "/" + paths_[tree_.below(paths_.size())] + " @one\n"
                            : "/" + directory + "/ @a @b\n";
    }
    texts_[some_directory() + "/.gitignore"] = tree_.below(2) == 0 ? "*.yaml\n" : "README.md\n";
    texts_[some_directory() + "/.gitattributes"] = "*.md linguist-documentation\n*.sh -diff\n";
    moves_ = tree_.moves();
  }

  const Texts& texts() const { return texts_; }
  std::string plan() const { return plan_text(moves_); }

 private:
  std::string some_directory() {
    std::string path = paths_[tree_.below(paths_.size())];
    for (std::size_t up = 1 + tree_.below(3); up > 0 && path.find('/') != std::string::npos; --up)
      path = std::string(parent_of(path));
    return path.find('.') == std::string::npos || !texts_.count(path) ? path : "docs";
  }

  RandomTree tree_;
  Texts texts_;
  std::vector<std::string> paths_;
  std::vector<std::pair<std::string, std::string>> moves_;
};

/// What git says of the files of a tree.
struct Judged {
  std::set<std::string> ignored;
  std::map<std::string, std::string> attributes;
};

Judged judge(const Texts& texts) {
  const muster::testing::TemporaryDirectory scratch;
  const std::string root = scratch.path().string();
  std::string list;
  for (const auto& [path, text] : texts) {
    std::filesystem::create_directories((scratch.path() / path).parent_path());
    std::ofstream(scratch.path() / path) << text;
    list += path + "\n";
  }
  std::ofstream(root + "/.list") << list;
  const std::string git = "cd " + root + " && git init -q . && ";
  Judged result;
  const auto lines = [](const std::string& text, const auto& each) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      each(text.substr(begin, end - begin));
      begin = end + 1;
    }
  };
  lines(output_of(git + "(git check-ignore --no-index --stdin <.list || test $? = 1)"),
        [&](const std::string& line) { result.ignored.insert(line); });
  lines(output_of(git + "git check-attr -a --stdin <.list"), [&](const std::string& line) {
    result.attributes[line.substr(0, line.find(": "))] += line.substr(line.find(": ")) + ";";
  });
  return result;
}

/// The owners by the forms that the generator writes; the last line that holds decides.
std::string owners_of(const std::string& text, const std::string& path) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin), space = text.find(' ', begin);
    const std::string pattern = text.substr(begin, space - begin);
    const bool anchored = pattern.front() == '/', directory = pattern.back() == '/';
    const bool holds = pattern.front() == '*' ? path.size() > pattern.size() - 1 &&
                                                    path.compare(path.size() - pattern.size() + 1,
                                                                 std::string::npos, pattern, 1) == 0
                       : anchored && directory ? ("/" + path).rfind(pattern, 0) == 0
                       : anchored              ? "/" + path == pattern
                       : std::count(pattern.begin(), pattern.end(), '/') > 1
                           ? path.rfind(pattern, 0) == 0
                           : ("/" + path).find("/" + pattern) != std::string::npos;
    if (holds) result = text.substr(space + 1, end - space - 1);
    begin = end + 1;
  }
  return result;
}

TEST(Effects, WhatChangesForAFileIsReported) {
  std::size_t ignored = 0, attributes = 0, owned = 0;
  for (unsigned seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(seed);
    const RuledTree tree(seed);
    Case c(tree.plan(), {tree.texts()});
    c.run();
    if (c.moves.collided) continue;
    std::set<std::string> said_ignored, said_attributes;
    std::map<std::string, std::size_t> said_owners;  // "A before, B after" -> files
    for (const Finding& finding : c.effects) {
      if (finding.rule == "reorg-ignored") said_ignored.insert(finding.where.file);
      if (finding.rule == "reorg-attributes") said_attributes.insert(finding.where.file);
      if (finding.rule != "reorg-owners") continue;
      const std::size_t colon = finding.message.find(": ");
      said_owners[finding.message.substr(colon + 2)] =
          static_cast<std::size_t>(std::stoi(finding.message.substr(10)));
    }
    const Judged before = judge(tree.texts()), after = judge(c.after);
    std::set<std::string> want_ignored, want_attributes;
    std::map<std::string, std::size_t> want_owners;
    const Side& side = c.moves.layout.sides[0];
    for (std::size_t i = 0; i < side.images.size(); ++i) {
      const std::string& old_path = side.tree.files()[i].path;
      const std::string& new_path = *side.images[i];
      if (before.ignored.count(old_path) != after.ignored.count(new_path))
        want_ignored.insert(old_path);
      const auto of = [](const Judged& judged, const std::string& path) {
        const auto found = judged.attributes.find(path);
        return found == judged.attributes.end() ? std::string() : found->second;
      };
      if (of(before, old_path) != of(after, new_path)) want_attributes.insert(old_path);
      const std::string had = owners_of(tree.texts().at("CODEOWNERS"), old_path);
      const auto moved = c.after.find("CODEOWNERS");
      const std::string has = moved == c.after.end() ? "" : owners_of(moved->second, new_path);
      if (had != has)
        ++want_owners[(had.empty() ? "none" : had) + " before, " + (has.empty() ? "none" : has) +
                      " after"];
    }
    EXPECT_EQ(said_ignored, want_ignored) << tree.plan() << c.after[".gitignore"];
    EXPECT_EQ(said_attributes, want_attributes) << tree.plan() << c.after[".gitattributes"];
    EXPECT_EQ(said_owners, want_owners) << tree.plan() << c.after["CODEOWNERS"];
    ignored += want_ignored.size();
    attributes += want_attributes.size();
    owned += want_owners.size();
  }
  EXPECT_GT(ignored, 5U);
  EXPECT_GT(attributes, 5U);
  EXPECT_GT(owned, 5U);
}

}  // namespace
}  // namespace muster::reorg::testing
