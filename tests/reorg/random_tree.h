// Random repositories whose right answers the generator knows: every link is built from its target.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "case.h"
#include "reorg/url.h"

namespace muster::reorg::testing {

/// A link that a page holds on a line of its own.
struct Expectation {
  std::string file, target;
  std::size_t line = 0;  ///< from 0
};

class RandomTree {
 public:
  explicit RandomTree(unsigned seed, bool odd_names = true) : random_(seed), odd_(odd_names) {
    const std::size_t count = 4 + below(12);
    for (std::size_t i = 0; i < count; ++i) {
      std::string path = pick(directories());
      for (std::size_t depth = below(3); depth > 0; --depth) path += "/" + pick(directories());
      path += "/" + std::to_string(i) + pick(files());
      texts_[path] = "";
    }
    for (const auto& [path, text] : texts_) paths_.push_back(path);
    for (auto& [path, text] : texts_) {
      if (path.size() < 3 || path.substr(path.size() - 3) != ".md") {
        text = "content of " + path.substr(path.rfind('/') + 1) + "\n";
        continue;
      }
      for (std::size_t line = 0; line < 1 + below(4); ++line) {
        std::string target = pick(paths_);
        for (std::size_t up = below(3); up > 0 && target.find('/') != std::string::npos; --up)
          target = std::string(parent_of(target));
        expectations_.push_back({path, target, line});
        text += "[text](" + link(path, target) + ")\n";
      }
    }
  }

  const Texts& texts() const { return texts_; }
  const std::vector<Expectation>& expectations() const { return expectations_; }

  /// Moves of random directories and files to fresh names, some below each other.
  std::vector<std::pair<std::string, std::string>> moves() {
    std::vector<std::pair<std::string, std::string>> result;
    std::vector<std::string> from;
    for (std::size_t i = 0; i < 1 + below(4); ++i) {
      std::string path = pick(paths_);
      for (std::size_t up = below(4); up > 0 && path.find('/') != std::string::npos; --up)
        path = std::string(parent_of(path));
      if (std::find(from.begin(), from.end(), path) != from.end()) continue;
      from.push_back(path);
      std::string to = "new" + std::to_string(i);
      for (std::size_t depth = below(3); depth > 0; --depth) to = pick(directories()) + "/" + to;
      result.emplace_back(path, to);
    }
    return result;
  }

  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

 private:
  const std::string& pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  const std::vector<std::string>& directories() const {
    static const std::vector<std::string> kPlain = {"1.arch", "2.vpc", "docs",    "common",
                                                    "3_box",  "pod",   "pod-eks", "v1.2"};
    static const std::vector<std::string> kOdd = {"1.arch", "2. Set Up", "docs", "it's",
                                                  "x(y)",   "pod",       "a&b",  "caf\xc3\xa9"};
    return odd_ ? kOdd : kPlain;
  }
  const std::vector<std::string>& files() const {
    static const std::vector<std::string> kFiles = {"README.md", "page.md", "run.sh", ".yaml",
                                                    ".md"};
    return kFiles;
  }

  static std::string link(const std::string& file, const std::string& target) {
    return percent_encoded(relative_to(parent_of(file), target));
  }

  std::mt19937 random_;
  bool odd_;
  Texts texts_;
  std::vector<std::string> paths_;
  std::vector<Expectation> expectations_;
};

inline std::string plan_text(const std::vector<std::pair<std::string, std::string>>& moves) {
  if (moves.empty()) return kHead;
  std::string text = std::string(kHead) + "rules:\n";
  for (const auto& [from, to] : moves) {
    std::string quoted;
    for (const char c : from + "\", to: \"" + to) quoted += c;
    text += "  - {move: \"" + quoted + "\"}\n";
  }
  return text;
}

/// The target of the only link of a line.
inline std::string link_of_line(const std::string& text, std::size_t line) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < line; ++i) begin = text.find('\n', begin) + 1;
  const std::size_t open = text.find("](", begin) + 2;
  std::size_t close = open;
  int depth = 0;
  while (text[close] != ')' || depth > 0) {
    if (text[close] == '(') ++depth;
    if (text[close] == ')') --depth;
    ++close;
  }
  return text.substr(open, close - open);
}

}  // namespace muster::reorg::testing
