#include "reorg/apply.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/text.h"
#include "reorg/history.h"
#include "reorg/pack_writer.h"
#include "reorg/paths.h"
#include "reorg/spread.h"
#include "reorg/verify.h"

namespace muster::reorg {
namespace {

constexpr const char* kIgnoreRevs = ".git-blame-ignore-revs";

Failure refused(std::string message, std::string hint) {
  return failure("reorg-refused", std::move(message), std::move(hint));
}

/// Work tree and index follow a reference that has changed. Failure: it has not changed.
Result<void> check_out(Repository& repository, const ReferenceChange& change,
                       const ObjectId& old_tree) {
  auto out = repository.check_out_head(old_tree);
  if (out) return out;
  const ReferenceChange back{change.name, change.to, change.from};
  if (auto undone = repository.change_references({back}, "reorg: not checked out"); !undone) {
    Findings both = out.findings();
    both.insert(both.end(), undone.findings().begin(), undone.findings().end());
    return Failure(std::move(both));
  }
  if (out.findings().front().rule != kCheckOutConflict) return out;
  return refused(
      out.findings().front().message,
      "move away what git does not track, and what a submodule has not committed; or --branch");
}

/// The revision that the commit's message says its run started from.
std::optional<std::string> start_in(const std::string& message) {
  const std::string key = std::string("\n") + kUndoTrailer;
  const std::size_t trailer = message.rfind(key);
  if (trailer == std::string::npos) return std::nullopt;
  return first_line(std::string_view(message).substr(trailer + key.size()));
}

/// The paths of all files while those of rounds up to `done` have moved.
const std::string& path_in(const Side& side, const std::vector<std::optional<std::size_t>>& rounds,
                           std::size_t file, std::size_t done) {
  const bool moved = rounds[file] && *rounds[file] <= done;
  return moved ? *side.images[file] : side.tree.files()[file].path;
}

/// Files of later rounds that are in the way of those that round `round` moves.
std::vector<std::size_t> blocking(const Side& side,
                                  const std::vector<std::optional<std::size_t>>& rounds,
                                  std::size_t round) {
  std::unordered_map<std::string_view, std::size_t> waiting;  // path -> file that has not moved
  std::unordered_map<std::string_view, std::size_t> inside;   // directory -> a file in it
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (!rounds[i] || *rounds[i] <= round) continue;
    const std::string_view path = side.tree.files()[i].path;
    waiting.emplace(path, i);
    for (std::string_view at = parent_of(path); !at.empty(); at = parent_of(at))
      inside.emplace(at, i);
  }
  std::vector<std::size_t> found;
  if (waiting.empty()) return found;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (!rounds[i] || *rounds[i] > round) continue;
    const std::string_view path = *side.images[i];
    if (const auto in_it = inside.find(path); in_it != inside.end()) found.push_back(in_it->second);
    for (std::string_view at = path; !at.empty(); at = parent_of(at)) {
      if (const auto there = waiting.find(at); there != waiting.end())
        found.push_back(there->second);
    }
  }
  return found;
}

class Application {
 public:
  Application(Workspace& workspace, const Rewriting& rewriting, const ApplyOptions& options)
      : workspace_(workspace),
        rewriting_(rewriting),
        options_(options),
        repository_(workspace.repositories[0]) {}

  Result<Applied> run() {
    if (auto allowed = may_start(); !allowed) return allowed.error();
    result_.before = workspace_.commits[0];
    tip_ = result_.before;
    if (auto moved = commit_moves(); !moved) return moved.error();
    if (auto merged = commit_merges(); !merged) return merged.error();
    if (auto edits = commit_edits(); !edits) return edits.error();
    result_.after = tip_;
    if (!result_.changed()) return std::move(result_);
    if (auto whole = nothing_broken(); !whole) return whole.error();
    const auto old_commit = repository_.commit(result_.before);
    if (!old_commit) return old_commit.error();
    const bool elsewhere = !options_.branch.empty();
    const ReferenceChange change{
        result_.reference, elsewhere ? std::nullopt : std::optional(result_.before), result_.after};
    if (auto set = repository_.change_references({change}, "reorg: " + workspace_.plan.name); !set)
      return set.error();
    if (!elsewhere) {
      if (auto out = check_out(repository_, change, old_commit->tree); !out) return out.error();
      const Side& side = workspace_.moves.layout.sides[0];
      for (std::size_t i = 0; i < side.images.size(); ++i) {
        if (side.moved(i) && side.tree.files()[i].mode == kModeSubmodule)
          result_.submodules.push_back(*side.images[i]);
      }
    }
    return std::move(result_);
  }

 private:
  Result<void> may_start() {
    const auto head = repository_.head_reference();
    if (options_.branch.empty()) {
      if (!head) return refused("HEAD names no branch", "check out a branch, or use --branch");
      result_.reference = *head;
      if (repository_.reference(*head) != std::optional(workspace_.commits[0]))
        return refused("only the branch's last commit can be reorganised", "use --branch");
      const auto clean = repository_.clean();
      if (!clean) return clean.error();
      if (!*clean)
        return refused("the work tree has changes", "commit or stash them, or use --branch");
    } else {
      result_.reference = "refs/heads/" + options_.branch;
      if (repository_.reference(result_.reference))
        return refused(fmt::format("there is a branch \"{}\" already", options_.branch),
                       "choose another name");
    }
    return {};
  }

  /// The new tree, read back, holds no reference that led somewhere before and leads nowhere now.
  Result<void> nothing_broken() {
    if (!options_.verify) return {};
    auto tree = repository_.tree_of(result_.after);
    if (!tree) return tree.error();
    const auto verified = verify_move(workspace_, rewriting_, std::move(*tree), options_.threads);
    if (!verified) return verified.error();
    if (verified->broken.empty()) return {};
    Findings findings =
        findings_of(verified->broken, Severity::kError, "reorg-broken", "would be broken");
    const std::string what = fmt::format("{} reference{} would be broken; nothing was changed",
                                         findings.size(), findings.size() == 1 ? "" : "s");
    findings.push_back(error_at({}, "reorg-refused", what,
                                "change what they are or where their targets go, or --no-verify"));
    return Failure(std::move(findings));
  }

  Result<void> commit(const std::vector<File>& files, std::vector<ObjectId> parents,
                      std::string message) {
    const auto tree = repository_.write_tree(files, true);
    if (!tree) return tree.error();
    Commit fresh;
    fresh.tree = *tree;
    fresh.parents = std::move(parents);
    fresh.author = fresh.committer = repository_.signature();
    fresh.message = std::move(message);
    const auto id = repository_.write_commit(fresh);
    if (!id) return id.error();
    tip_ = *id;
    return {};
  }

  Result<void> commit_moves() {
    const Side& side = workspace_.moves.layout.sides[0];
    const auto rounds = move_rounds(side);
    std::size_t last = 0;
    for (const auto& round : rounds) {
      if (round) last = std::max(last, *round + 1);
    }
    for (std::size_t round = 0; round < last; ++round) {
      std::vector<File> files;
      std::size_t count = 0;
      for (std::size_t i = 0; i < rounds.size(); ++i) {
        const File& file = side.tree.files()[i];
        const bool dropped = !side.images[i] && round + 1 == last;
        if (dropped) continue;
        files.push_back({path_in(side, rounds, i, round), file.mode, file.id});
        if (rounds[i] == round) ++count;
      }
      const std::string part = last == 1 ? "" : fmt::format(" ({} of {})", round + 1, last);
      auto done =
          commit(files, {tip_},
                 fmt::format("Move {} file{} to the layout \"{}\"{}\n\nNothing but paths changes, "
                             "and no two files of equal contents move at once,\nso that `git log "
                             "--follow` and `git blame` find each file's own history.\n",
                             count, count == 1 ? "" : "s", workspace_.plan.name, part));
      if (!done) return done;
      result_.moves.push_back(tip_);
      result_.moved_files += count;
    }
    return {};
  }

  /// This repository's files, and those of the first `sides` merged ones, where they now lie.
  std::vector<File> files_with(std::size_t sides) const {
    std::vector<File> files;
    const Layout& layout = workspace_.moves.layout;
    for (std::size_t i = 0; i < layout.sources.size(); ++i) {
      if (layout.sources[i].side <= sides) files.push_back(layout.after.files()[i]);
    }
    return files;
  }

  Result<void> commit_merges() {
    const Layout& layout = workspace_.moves.layout;
    for (std::size_t side = 1; side < layout.sides.size(); ++side) {
      const auto& images = layout.sides[side].images;
      if (std::none_of(images.begin(), images.end(), [](const auto& i) { return i.has_value(); }))
        continue;  // an earlier run has merged it
      const auto history = import_history(workspace_, side);
      if (!history) return history.error();
      result_.merged_commits += history->commits;
      auto done = commit(files_with(side), {tip_, history->tip},
                         fmt::format("Merge {}\n\nIts {} commits are told with the paths "
                                     "that its files have here.\n",
                                     layout.sides[side].plan->name, history->commits));
      if (!done) return done;
      result_.merges.push_back(tip_);
    }
    return {};
  }

  Result<void> commit_edits() {
    std::vector<File> files = files_with(workspace_.moves.layout.sides.size());
    const auto edited_files =
        write_edits(workspace_, workspace_.moves.layout, rewriting_, files, options_.threads);
    if (!edited_files) return edited_files.error();
    result_.edited_files = *edited_files;
    const auto new_map = write_map_to(files);
    if (!new_map) return new_map.error();
    if (result_.edited_files == 0 && !*new_map) return {};
    const std::string trailer = kUndoTrailer + result_.before.hex() + "\n";
    const std::string title =
        result_.edited_files > 0
            ? fmt::format("Follow the moves of \"{}\" in {} file{}", workspace_.plan.name,
                          result_.edited_files, result_.edited_files == 1 ? "" : "s")
            : fmt::format("Record the moves of \"{}\"", workspace_.plan.name);
    const std::string body = fmt::format(
        "\n\n{} reference{} rewritten; {} says where each file went.\n\n", rewriting_.edits.size(),
        rewriting_.edits.size() == 1 ? "" : "s", workspace_.plan.map_path);
    if (auto done = commit(files, {tip_}, title + body + trailer); !done) return done;
    result_.edits = tip_;
    return result_.edited_files > 0 ? commit_ignore_revs(std::move(files), trailer)
                                    : Result<void>();
  }

  /// Whether the map changes.
  Result<bool> write_map_to(std::vector<File>& files) {
    const MoveMap map = extended_map(workspace_.map, workspace_.plan, workspace_.moves.layout);
    if (map.lines.empty()) return false;
    return put(files, workspace_.plan.map_path, write_map(map));
  }

  /// Whether the file is new or other than it was.
  Result<bool> put(std::vector<File>& files, const std::string& path, const std::string& content) {
    const auto blob = repository_.write_blob(content);
    if (!blob) return blob.error();
    for (File& file : files) {
      if (file.path != path) continue;
      const bool differs = file.id != *blob;
      file.id = *blob;
      return differs;
    }
    files.push_back({path, kModeFile, *blob});
    return true;
  }

  Result<void> commit_ignore_revs(std::vector<File> files, const std::string& trailer) {
    std::string content;
    for (const File& file : files) {
      if (file.path != kIgnoreRevs) continue;
      const auto there = repository_.blob(file.id);
      if (!there) return there.error();
      content = *there;
      if (!content.empty() && content.back() != '\n') content += '\n';
    }
    content += fmt::format("# {}: paths in texts, no contents\n{}\n", workspace_.plan.name,
                           result_.edits->hex());
    if (auto done = put(files, kIgnoreRevs, content); !done) return done.error();
    return commit(files, {tip_},
                  fmt::format("Let git blame look through the path edits of \"{}\"\n\nOnce in each "
                              "clone: git config blame.ignoreRevsFile {}\n\n",
                              workspace_.plan.name, kIgnoreRevs) +
                      trailer);
  }

  Workspace& workspace_;
  const Rewriting& rewriting_;
  const ApplyOptions& options_;
  Repository& repository_;
  Applied result_;
  ObjectId tip_;
};

}  // namespace

std::vector<std::optional<std::size_t>> move_rounds(const Side& side) {
  std::vector<std::optional<std::size_t>> rounds(side.images.size());
  std::map<ObjectId, std::size_t> twins;
  std::size_t last = 0;
  for (std::size_t i = 0; i < side.images.size(); ++i) {
    if (!side.moved(i)) continue;
    rounds[i] = twins[side.tree.files()[i].id]++;
    last = std::max(last, *rounds[i]);
  }
  for (std::size_t round = 0; round < last; ++round) {
    for (;;) {
      const auto in_the_way = blocking(side, rounds, round);
      if (in_the_way.empty()) break;
      for (const std::size_t file : in_the_way) rounds[file] = round;
    }
  }
  // Rounds that emptied, by moving a blocking file forward, close up.
  std::set<std::size_t> used;
  for (const auto& round : rounds) {
    if (round) used.insert(*round);
  }
  for (auto& round : rounds) {
    if (round) round = static_cast<std::size_t>(std::distance(used.begin(), used.find(*round)));
  }
  return rounds;
}

Result<Applied> apply(Workspace& workspace, const Rewriting& rewriting,
                      const ApplyOptions& options) {
  return Application(workspace, rewriting, options).run();
}

Result<std::size_t> write_edits(const Workspace& workspace, const Layout& layout,
                                const Rewriting& rewriting, std::vector<File>& files,
                                unsigned threads) {
  const auto edits = edits_by_file(rewriting.edits);
  std::vector<std::pair<std::size_t, const std::vector<const Reference*>*>> work;
  for (std::size_t i = 0; i < layout.sources.size(); ++i) {
    const auto list = edits.find({layout.sources[i].side, layout.sources[i].file});
    if (list != edits.end()) work.emplace_back(i, &list->second);
  }
  std::unique_ptr<PackWriter> pack;
  if (work.size() >= kManyObjects) {
    auto made = PackWriter::create(workspace.repositories[0].objects());
    if (!made) return made.error();
    pack = std::move(*made);
  }
  const auto written = spread(
      work.size(), threads, [&] { return workspace.open(); },
      [&](std::vector<Repository>& repositories, std::size_t at) -> Result<void> {
        const auto& [i, list] = work[at];
        const auto content = repositories[layout.sources[i].side].blob(files[i].id);
        if (!content) return content.error();
        const std::string changed = edited(*content, *list);
        const auto blob =
            pack ? pack->add(PackedType::kBlob, changed) : repositories[0].write_blob(changed);
        if (!blob) return blob.error();
        files[i].id = *blob;
        return {};
      });
  if (!written) return written.error();
  if (pack) {
    if (auto done = pack->finish(); !done) return done.error();
    if (auto done = workspace.repositories[0].refresh(); !done) return done.error();
  }
  return work.size();
}

Result<std::optional<ObjectId>> last_start(const Repository& repository, ObjectId at) {
  for (;;) {
    const auto commit = repository.commit(at);
    if (!commit) return commit.error();
    if (const auto start = start_in(commit->message)) {
      const auto id = repository.commit_of(*start);
      if (!id) return id.error();
      return std::optional(*id);
    }
    if (commit->parents.empty()) return std::optional<ObjectId>();
    at = commit->parents.front();
  }
}

Result<Applied> undo(Repository& repository) {
  const auto head = repository.head_reference();
  if (!head) return refused("HEAD names no branch", "check out the branch that was reorganised");
  const auto tip = repository.reference(*head);
  if (!tip) return refused("the branch has no commit", "");
  const auto commit = repository.commit(*tip);
  if (!commit) return commit.error();
  const auto start = start_in(commit->message);
  if (!start)
    return refused("the last commit is none of a reorganisation",
                   "other work came after it: revert its commits instead");
  const auto before = repository.commit_of(*start);
  if (!before) return before.error();
  const auto clean = repository.clean();
  if (!clean) return clean.error();
  if (!*clean) return refused("the work tree has changes", "commit or stash them");
  Applied result;
  result.reference = *head;
  result.before = *tip;
  result.after = *before;
  const ReferenceChange change{*head, *tip, *before};
  if (auto set = repository.change_references({change}, "reorg: undo"); !set) return set.error();
  if (auto out = check_out(repository, change, commit->tree); !out) return out.error();
  return result;
}

}  // namespace muster::reorg
