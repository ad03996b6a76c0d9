// The plan of a reorganisation: rules that say where the files of one repository, and of those that
// are merged into it, go. Rules hold at once, in no order: the longest path that a file lies under
// decides.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/finding.h"
#include "base/regex.h"
#include "base/result.h"
#include "base/schema.h"

namespace muster::catalog {

struct MoveRule {
  enum class Kind {
    kMove,    ///< a file or directory to another path
    kKeep,    ///< a file or directory stays, whatever other rules say
    kDrop,    ///< a file or directory is left out
    kMatch,   ///< whole paths by a pattern, `$1` in the new one
    kRename,  ///< each directory's name by a pattern, in what no other rule has named
  };
  Kind kind = Kind::kMove;
  std::string from;                      ///< a path, or a pattern
  std::string to;                        ///< a path, or what replaces the pattern's match
  std::vector<std::string> except;       ///< kMatch, kRename: not below these paths
  std::shared_ptr<const Regex> pattern;  ///< kMatch, kRename
  Position where;
};

struct RepositoryPlan {
  std::string name;                   ///< "owner/name" on GitHub; may be empty
  std::vector<std::string> former;    ///< names that it had; links by them are its own too
  std::vector<std::string> branches;  ///< whose URLs follow the move; empty: the branch at hand
  std::string from;                   ///< kMerge: the other clone, from the plan's folder
  std::string revision;               ///< which commit; empty: HEAD
  std::vector<MoveRule> rules;
  Position where;
};

/// Something outside that points into the repository.
struct Consumer {
  std::string name;
  std::string from;      ///< its tree: a folder, from the plan's
  std::string revision;  ///< of a git clone; empty: the files as they lie there
  std::string pin;       ///< the tag that it may use meanwhile
  Position where;
};

struct Reorganisation {
  std::string file;  ///< how messages name it
  std::string name;
  RepositoryPlan repository;
  std::vector<RepositoryPlan> merged;
  std::vector<Consumer> consumers;
  std::string pin;       ///< a tag of the old layout, for consumers; may be empty
  std::string map_path;  ///< where the committed map lies in the repository

  /// This repository, then the merged ones.
  std::vector<const RepositoryPlan*> sides() const;
};

const Schema& reorganisation_schema();

/// Reads a plan. Findings "plan-…" are located: unknown keys, rules that name no path or two, two
/// rules for one path, a path that git can't hold.
Result<Reorganisation> read_plan(std::string_view text, const std::string& file);

/// The same findings of a document that is parsed.
Findings check_reorganisation(const Node& document);

/// Whether a tree may hold something at this path: relative, no empty part, no "..", no ".git".
bool git_can_hold(std::string_view path);

}  // namespace muster::catalog
