#include "reorg/verify.h"

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "reorg/anchors.h"
#include "reorg/apply.h"
#include "reorg/paths.h"
#include "reorg/repair.h"
#include "reorg/workspace.h"

namespace muster::reorg {
namespace {

/// A layout of one repository whose files went as `images` say.
Layout layout_of(Tree tree, std::vector<std::optional<std::string>> images, Tree after) {
  Layout layout;
  Side side;
  static const RepositoryPlan kNoPlan;
  side.plan = &kNoPlan;
  side.tree = std::move(tree);
  side.images = std::move(images);
  side.rules.resize(side.images.size());
  fill_directories(side, Rules({}));
  layout.sides.push_back(std::move(side));
  layout.after = std::move(after);
  return layout;
}

Tree copy_of(const Tree& tree) {
  return Tree(std::vector<File>(tree.files()));
}

/// Where each file of the old tree is in the new one: by the map, its own path, or, when it is the
/// only one with these contents, by them.
std::vector<std::optional<std::string>> images_in(const Tree& before, const Tree& after,
                                                  const std::optional<MoveMap>& map) {
  std::unordered_map<std::string_view, const std::optional<std::string>*> mapped;
  if (map) {
    for (const MapLine& line : map->lines) {
      if (line.repository.empty()) mapped[line.from] = &line.to;
    }
  }
  std::map<ObjectId, std::vector<const File*>> by_content;
  for (const File& file : after.files()) by_content[file.id].push_back(&file);
  std::vector<std::optional<std::string>> images;
  for (const File& file : before.files()) {
    const auto line = mapped.find(file.path);
    if (line != mapped.end() && (!*line->second || after.has(**line->second))) {
      images.push_back(*line->second);
    } else if (after.file(file.path)) {
      images.emplace_back(file.path);
    } else {
      const auto same = by_content.find(file.id);
      const bool single = same != by_content.end() && same->second.size() == 1;
      images.push_back(single ? std::optional(same->second.front()->path) : std::nullopt);
    }
  }
  return images;
}

/// The commit that the last run started from.
Result<ObjectId> started_from(const Repository& repository, const ObjectId& at) {
  const auto start = last_start(repository, at);
  if (!start) return start.error();
  if (*start) return **start;
  return failure("git-revision", "the history holds no reorganisation",
                 "name two revisions: BEFORE AFTER");
}

std::string line_of(const std::string& text, std::size_t offset) {
  const std::size_t before = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, std::min(text.find('\n', offset), text.size()) - begin);
}

using Key = std::pair<std::string, std::string>;  // file, text

class Verifier {
 public:
  Verifier(const Repository& repository, const VerifyOptions& options)
      : repository_(repository), options_(options) {}

  Result<Verification> run() {
    const auto newer = repository_.commit_of(options_.after);
    if (!newer) return newer.error();
    const auto older = options_.before.empty() ? started_from(repository_, *newer)
                                               : repository_.commit_of(options_.before);
    if (!older) return older.error();
    auto before = repository_.tree_of(*older);
    if (!before) return before.error();
    auto after = repository_.tree_of(*newer);
    if (!after) return after.error();
    std::optional<MoveMap> map;
    if (const File* file = after->file(options_.map)) {
      const auto text = repository_.blob(file->id);
      if (!text) return text.error();
      auto read = read_map(*text, options_.map);
      if (!read) return read.error();
      map = std::move(*read);
    }
    RepositoryPlan names_plan;
    names_plan.name = options_.name;
    names_plan.former = options_.former;
    const SideNames names = names_of(repository_, names_plan);
    auto images = images_in(*before, *after, map);
    std::vector<std::optional<std::string>> same;
    for (const File& file : after->files()) same.emplace_back(file.path);
    const Layout old_layout = layout_of(std::move(*before), std::move(images), copy_of(*after));
    const Layout new_layout = layout_of(copy_of(*after), std::move(same), copy_of(*after));
    const World old_world(old_layout, {names}), new_world(new_layout, {names});
    const auto reader = open_reader();
    const auto was = find_rewriting(old_world, reader, {options_.threads});
    if (!was) return was.error();
    const auto is = find_rewriting(new_world, reader, {options_.threads});
    if (!is) return is.error();
    const auto read = reader();
    if (!read) return read.error();
    Verification result;
    result.references = is->references;
    for (std::size_t i = 0; i < old_layout.sides[0].images.size(); ++i)
      result.moved += old_layout.sides[0].moved(i) ? 1 : 0;
    compare(old_layout, new_world, *was, *is, *read, result);
    result.anchors = dead_anchors(new_world, *read, is->fragments);
    if (options_.repair) {
      auto renames = repository_.renames(*newer);
      if (!renames) return renames.error();
      const RenameChains chains(std::move(*renames), new_world.tree(0));
      for (const auto* list : {&result.broken, &result.dead}) {
        auto found = find_repairs(new_world, chains, *list);
        std::move(found.begin(), found.end(), std::back_inserter(result.repairs));
      }
    }
    return result;
  }

 private:
  OpenReader open_reader() const {
    const std::filesystem::path path = repository_.path();
    return [path]() -> Result<ReadBlob> {
      auto opened = Repository::open(path);
      if (!opened) return opened.error();
      auto shared = std::make_shared<Repository>(std::move(*opened));
      return ReadBlob([shared](std::size_t, const ObjectId& id) { return shared->blob(id); });
    };
  }

  static void compare(const Layout& old_layout, const World& now, const Rewriting& was,
                      const Rewriting& is, const ReadBlob& read, Verification& result) {
    const auto image = [&](const Placed& placed) {
      return old_layout.sides[0].images[placed.file.file].value_or(placed.path);
    };
    const auto here = [&](const Placed& placed) {
      return now.tree(0).files()[placed.file.file].path;
    };
    std::set<Key> dead_before, dead_now;
    for (const Placed& placed : was.dead) dead_before.emplace(image(placed), placed.reference.text);
    for (const Placed& placed : was.healed)
      dead_before.emplace(image(placed), placed.reference.text);
    for (const Placed& placed : is.dead) {
      dead_now.emplace(here(placed), placed.reference.text);
      const bool before = dead_before.count({here(placed), placed.reference.text}) > 0;
      (before ? result.dead : result.broken).push_back(placed);
    }
    for (const auto* list : {&was.dead, &was.healed}) {
      for (const Placed& placed : *list) {
        if (!dead_now.count({image(placed), placed.reference.text}))
          result.healed.push_back(placed);
      }
    }
    // What had to change and stands as it was.
    for (const Placed& placed : was.edits) {
      const Key key{image(placed), placed.reference.text};
      const File* file = now.tree(0).file(key.first);
      // Links and the like are among the dead already.
      const bool listed =
          placed.reference.confidence == Confidence::kCertain && dead_now.count(key) > 0;
      if (!file || listed || now.tree(0).has(placed.reference.target)) continue;
      const File& old_file = old_layout.sides[0].tree.files()[placed.file.file];
      const auto old_text = read(0, old_file.id);
      const auto text = read(0, file->id);
      if (!old_text || !text) continue;
      const std::string line = line_of(*old_text, placed.reference.offset);
      const std::size_t at = ("\n" + *text + "\n").find("\n" + line + "\n");
      if (at == std::string::npos || line.empty()) continue;
      Placed stale = placed;
      stale.path = quoted_path(key.first);
      stale.line = 1 + static_cast<int>(std::count(
                           text->begin(), text->begin() + static_cast<std::ptrdiff_t>(at), '\n'));
      stale.reference.reason = fmt::format("{} has moved; should be '{}'", placed.reference.target,
                                           *placed.reference.replacement);
      result.broken.push_back(std::move(stale));
    }
  }

  const Repository& repository_;
  const VerifyOptions& options_;
};

}  // namespace

Result<Verification> verify(const std::filesystem::path& repository, const VerifyOptions& options) {
  const auto opened = Repository::open(repository);
  if (!opened) return opened.error();
  return Verifier(*opened, options).run();
}

}  // namespace muster::reorg
