// A repository in memory, a plan, and what becomes of it: for tests that need no git.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/hash.h"
#include "reorg/effects.h"
#include "reorg/moves.h"
#include "reorg/paths.h"
#include "reorg/plan.h"
#include "reorg/rewrite.h"
#include "reorg/world.h"

namespace muster::reorg::testing {

using Texts = std::map<std::string, std::string>;

/// An id that stands for a content, as git's does.
inline ObjectId id_of(const std::string& content) {
  const std::string digest = sha256(content);
  ObjectId id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i)
    id.bytes[i] = static_cast<unsigned char>(std::stoi(digest.substr(2 * i, 2), nullptr, 16));
  return id;
}

/// "move: a -> b" lines, ';' between them, as the rules of a plan.
inline std::string rules_text(const std::string& moves, const std::string& indent = "") {
  std::string text;
  for (std::size_t begin = 0; begin < moves.size();) {
    const std::size_t end = std::min(moves.find(';', begin), moves.size());
    const std::string move = moves.substr(begin, end - begin);
    const std::size_t arrow = move.find(" -> ");
    const std::size_t from = move.find_first_not_of(' ');
    text += indent + "- {move: \"" + move.substr(from, arrow - from) + "\", to: \"" +
            move.substr(arrow + 4) + "\"}\n";
    begin = end + 1;
  }
  return text;
}

inline constexpr const char* kHead = "apiVersion: muster/v1\nkind: Reorganisation\nname: test\n";

/// A symlink's content starts with this.
inline constexpr const char* kLink = "symlink:";

class Case {
 public:
  std::vector<SideNames> names = {{{"acme/widgets", "old/wid"}, {"main"}, {"feature/x", "v1"}},
                                  {{"acme/serve"}, {"main"}, {}}};
  Origins origins;
  unsigned threads = 1;

  Case(std::string plan, std::vector<Texts> sides) : sides_(std::move(sides)) {
    auto read = read_plan(plan, "plan.yaml");
    if (!read) throw std::runtime_error(to_string(read.findings().front()));
    plan_ = std::move(*read);
  }
  /// One repository and its moves: "a -> b; c -> d".
  Case(const Texts& files, const std::string& moves)
      : Case(kHead + ("rules:\n" + rules_text(moves)), {files}) {}

  Case& run() {
    std::vector<Tree> trees;
    for (const Texts& side : sides_) {
      std::vector<File> files;
      for (const auto& [path, content] : side) {
        const bool link = content.rfind(kLink, 0) == 0;
        const std::string bytes = link ? content.substr(std::string(kLink).size()) : content;
        const ObjectId id = id_of(bytes);
        blobs_[id] = bytes;
        files.push_back({path, link ? kModeSymlink : kModeFile, id});
      }
      trees.emplace_back(std::move(files));
    }
    moves = make_moves(plan_, std::move(trees), origins);
    names.resize(sides_.size());
    world_ = std::make_unique<World>(moves.layout, names);
    const ReadBlob read = [this](std::size_t, const ObjectId& id) -> Result<std::string> {
      return blobs_.at(id);
    };
    auto found = find_rewriting(*world_, [&]() -> Result<ReadBlob> { return read; }, {threads});
    if (!found) throw std::runtime_error(to_string(found.findings().front()));
    rewriting = std::move(*found);
    effects = find_effects(*world_, read, rewriting);
    const auto edits = edits_by_file(rewriting.edits);
    for (std::size_t i = 0; i < moves.layout.sources.size(); ++i) {
      const Source& source = moves.layout.sources[i];
      const File& file = moves.layout.after.files()[i];
      std::string text = blobs_.at(file.id);
      const auto list = edits.find({source.side, source.file});
      if (list != edits.end()) text = edited(text, list->second);
      after[file.path] = (file.mode == kModeSymlink ? kLink : "") + text;
    }
    return *this;
  }

  /// The new origins, for another run.
  Origins next_origins() const {
    Origins next = origins;
    for (std::size_t i = 0; i < moves.layout.sources.size(); ++i) {
      const Source& source = moves.layout.sources[i];
      const Side& side = moves.layout.sides[source.side];
      const std::string& path = side.tree.files()[source.file].path;
      if (source.side == 0 && *side.images[source.file] == path) continue;
      const auto known = origins.find(path);
      next[*side.images[source.file]] = known != origins.end()
                                            ? known->second
                                            : Origin{source.side == 0 ? "" : side.plan->name, path};
    }
    return next;
  }

  const World& world() const { return *world_; }
  const Plan& plan() const { return plan_; }

  /// All findings as text, one a line.
  std::string said() const {
    std::string text;
    for (const Findings* list : {&moves.findings, &effects}) {
      for (const Finding& finding : *list) text += to_string(finding) + "\n";
    }
    return text;
  }

  Moves moves;
  Rewriting rewriting;
  Findings effects;
  Texts after;

 private:
  std::vector<Texts> sides_;
  Plan plan_;
  std::map<ObjectId, std::string> blobs_;
  std::unique_ptr<World> world_;
};

}  // namespace muster::reorg::testing
