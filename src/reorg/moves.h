// From rules to the new path of every file, with the proof that it is a layout: no two files at one
// path, no file where a directory is, no two names that differ by case only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/finding.h"
#include "reorg/plan.h"
#include "reorg/tree.h"

namespace muster::reorg {

/// What an earlier run of the same plan has moved, so that another run moves only what is new.
struct Origin {
  std::string repository;  ///< name of the merged repository; "" of this one
  std::string path;        ///< where the file was
};
using Origins = std::unordered_map<std::string, Origin>;  ///< by where it is now

/// Where the rules send one path.
struct Decision {
  std::optional<std::string> to;  ///< nothing: dropped
  const Rule* rule = nullptr;     ///< null: no rule says anything
};

class Rules {
 public:
  explicit Rules(const std::vector<Rule>& rules);

  /// Findings: two patterns that send the path to different places, a path that git can't hold.
  Decision decide(std::string_view path, Findings& findings) const;
  /// The rule whose path is exactly this one; null when there is none.
  const Rule* exactly(std::string_view path) const;

 private:
  Decision by_pattern(std::string_view path, Findings& findings) const;
  std::string renamed(std::string_view rest, std::string_view path, const Rule*& used,
                      Findings& findings) const;

  std::unordered_map<std::string_view, const Rule*> by_path_;
  std::vector<const Rule*> matches_, renames_;
};

/// Where a directory's files went.
struct DirectoryImage {
  enum class How {
    kUniform,  ///< all of it, with the paths below it kept, or as a rule says
    kSplit,    ///< to several places: `path` is what they share
    kGone,     ///< all of it dropped
  };
  How how = How::kUniform;
  std::string path;
};

/// One repository: what was, and where each file and directory goes.
struct Side {
  const RepositoryPlan* plan = nullptr;
  Tree tree;
  std::vector<std::optional<std::string>> images;  ///< by file; nothing: it is left out
  std::vector<const Rule*> rules;                  ///< by file; null: no rule decided
  std::vector<bool> arrived;  ///< by file: an earlier run brought it here; may be empty
  std::vector<DirectoryImage> directories;  ///< by directory

  /// The new path of an entry of the tree; nothing when it is gone.
  std::optional<std::string> image(const Entry& entry) const;
  bool moved(std::size_t file) const {
    return images[file] && *images[file] != tree.files()[file].path;
  }
};

/// Which file of which side.
struct Source {
  std::size_t side = 0, file = 0;
};

struct Layout {
  std::vector<Side> sides;      ///< this repository, then those merged into it
  Tree after;                   ///< the new tree, with the old contents
  std::vector<Source> sources;  ///< by file of `after`
};

struct Moves {
  Layout layout;
  Findings findings;      ///< located in the plan
  bool collided = false;  ///< no layout: `layout.after` is empty
};

/// Works out `side.directories` from the images of its files.
void fill_directories(Side& side, const Rules& rules);

/// `trees` as Plan::sides() has them. `origins`: what an earlier run left.
Moves make_moves(const Plan& plan, std::vector<Tree> trees, const Origins& origins);

}  // namespace muster::reorg
