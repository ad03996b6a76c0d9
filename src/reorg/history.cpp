#include "reorg/history.h"

#include <algorithm>
#include <map>
#include <set>

#include "reorg/paths.h"

namespace muster::reorg {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// The files of an old tree at their new paths. An old layout may have held what the rules send to
/// one place: the first keeps it.
std::vector<File> carried(const Tree& tree, const Rules& rules) {
  std::vector<File> files;
  Findings ignored;  // of paths that the present tree no longer has
  std::set<std::string> taken, directories;
  for (const File& file : tree.files()) {
    const Decision decision = rules.decide(file.path, ignored);
    if (!decision.to || taken.count(*decision.to) || directories.count(*decision.to)) continue;
    bool free = true;
    for (std::string_view at = parent_of(*decision.to); free && !at.empty(); at = parent_of(at))
      free = !taken.count(std::string(at));
    if (!free) continue;
    for (std::string_view at = parent_of(*decision.to); !at.empty(); at = parent_of(at))
      directories.emplace(at);
    taken.insert(*decision.to);
    files.push_back({*decision.to, file.mode, file.id});
  }
  return files;
}

}  // namespace

std::string qualified_message(std::string_view message, const std::string& repository) {
  std::string result;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char before = i == 0 ? ' ' : message[i - 1];
    const bool apart = std::string_view(" \t\n([{,;:\"'").find(before) != std::string_view::npos;
    if (message[i] == '#' && apart && i + 1 < message.size() && digit(message[i + 1])) {
      std::size_t end = i + 1;
      while (end < message.size() && digit(message[end])) ++end;
      const char after = end < message.size() ? message[end] : ' ';
      const bool word =
          (after >= 'a' && after <= 'z') || (after >= 'A' && after <= 'Z') || after == '_';
      if (!word) result += repository;
    }
    result += message[i];
  }
  return result;
}

Result<ImportedHistory> import_history(Workspace& workspace, std::size_t side) {
  Repository& target = workspace.repositories[0];
  const Repository& source = workspace.repositories[side];
  const RepositoryPlan& plan = *workspace.plan.sides()[side];
  const Rules rules(plan.rules);
  const auto order = source.history({workspace.commits[side]}, {});
  if (!order) return order.error();
  std::map<ObjectId, ObjectId> written;  // by the commit that it tells
  std::map<ObjectId, ObjectId> trees;    // by the tree that it carries
  std::set<ObjectId> copied;
  ImportedHistory result;
  for (const ObjectId& id : *order) {
    auto commit = source.commit(id);
    if (!commit) return commit.error();
    auto tree = trees.find(commit->tree);
    if (tree == trees.end()) {
      const auto files = source.tree_of(id);
      if (!files) return files.error();
      const std::vector<File> moved = carried(*files, rules);
      std::vector<ObjectId> blobs;
      for (const File& file : moved) {
        if (file.mode == kModeSubmodule || !copied.insert(file.id).second) continue;
        blobs.push_back(file.id);
        if (!source.has(file.id)) ++result.missing;
      }
      if (auto copy = target.copy_blobs(source, blobs); !copy) return copy.error();
      const auto fresh = target.write_tree(moved);
      if (!fresh) return fresh.error();
      tree = trees.emplace(commit->tree, *fresh).first;
    }
    Commit told = *commit;
    told.tree = tree->second;
    told.message = qualified_message(commit->message, plan.name);
    for (ObjectId& parent : told.parents) parent = written.at(parent);
    const auto fresh = target.write_commit(told);
    if (!fresh) return fresh.error();
    written[id] = *fresh;
    ++result.commits;
    result.tip = *fresh;
  }
  return result;
}

}  // namespace muster::reorg
