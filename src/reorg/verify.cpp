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

/// Where the references of broken lists are shown.
enum class Places { kOld, kNew };

/// What became of the references of an old layout in a new tree.
class Comparison {
 public:
  Comparison(const Layout& before, const World& now, const ReadBlob& read, Places places)
      : before_(before), now_(now), read_(read), places_(places) {}

  void run(const Rewriting& was, const Rewriting& is, Verification& result) {
    std::set<Key> dead_before, dead_now;
    for (const auto* list : {&was.dead, &was.healed}) {
      for (const Placed& placed : *list) dead_before.insert(key_of(placed));
    }
    for (const Placed& placed : is.dead) {
      const Key key{now_.tree(0).files()[placed.file.file].path, placed.reference.text};
      const bool before = dead_before.count(key) > 0;
      (before ? result.dead : result.broken).push_back(placed);
      if (!before && places_ == Places::kOld) take_back(result.broken.back(), was.edits);
      dead_now.insert(key);
    }
    for (const auto* list : {&was.dead, &was.healed}) {
      for (const Placed& placed : *list) {
        if (!dead_now.count(key_of(placed))) result.healed.push_back(placed);
      }
    }
    // What had to change and stands as it was. Links and the like are among the dead already.
    for (const Placed& placed : was.edits) {
      const bool listed =
          placed.reference.confidence == Confidence::kCertain && dead_now.count(key_of(placed)) > 0;
      if (!listed) stale(placed, result.broken);
    }
  }

 private:
  using Key = std::pair<std::string, std::string>;  // file, text

  const std::string* image(const Placed& placed) const {
    const auto& image = before_.sides[placed.file.side].images[placed.file.file];
    return image ? &*image : nullptr;
  }
  Key key_of(const Placed& placed) const {
    const std::string* path = image(placed);
    return {path ? *path : placed.path.str(), placed.reference.text};
  }

  /// To where it stands in the old layout: edits change no line's number.
  void take_back(Placed& placed, const std::vector<Placed>& edits) const {
    const std::string& path = now_.tree(0).files()[placed.file.file].path;
    const auto entry = before_.after.find(path);
    if (!entry || entry->directory) return;  // made by the run
    const Source source = before_.sources[entry->index];
    const Side& side = before_.sides[source.side];
    const std::string old_path = quoted_path(side.tree.files()[source.file].path);
    placed.path = source.side == 0 ? old_path : side.plan->name + ":" + old_path;
    int shift = 0;
    for (const Placed& edit : edits) {
      const bool on_line = edit.file.side == source.side && edit.file.file == source.file &&
                           edit.line == placed.line && edit.column + shift < placed.column;
      if (!on_line) continue;
      shift += static_cast<int>(edit.reference.replacement->size()) -
               static_cast<int>(edit.reference.text.size());
    }
    placed.column -= shift;
  }

  void stale(const Placed& placed, std::vector<Placed>& broken) {
    const std::string* path = image(placed);
    const File* file = path ? now_.tree(0).file(*path) : nullptr;
    const bool there = placed.reference.side == 0 && now_.tree(0).has(placed.reference.target);
    if (!file || there || !load(placed.file, file->id)) return;
    const auto [begin, end] = line_bounds(old_text_, placed.reference.offset);
    const std::string_view line = std::string_view(old_text_).substr(begin, end - begin);
    const auto stands = line.empty() ? lines_.end() : lines_.find(line);
    if (stands == lines_.end()) return;
    Placed found = placed;
    if (places_ == Places::kNew) {
      found.path = quoted_path(*path);
      found.line = stands->second;
    }
    found.reference.reason = fmt::format("{} has moved; should be '{}'", placed.reference.target,
                                         *placed.reference.replacement);
    broken.push_back(std::move(found));
  }

  static std::pair<std::size_t, std::size_t> line_bounds(std::string_view text,
                                                         std::size_t offset) {
    const std::size_t before = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
    return {before == std::string::npos ? 0 : before + 1,
            std::min(text.find('\n', offset), text.size())};
  }

  /// Both texts of a file; they are kept until the next one is asked for.
  bool load(const Source& source, const ObjectId& now) {
    const std::pair key(source.side, source.file);
    if (loaded_ == key) return readable_;
    loaded_ = key;
    lines_.clear();
    const Side& side = before_.sides[source.side];
    auto old_text = read_(source.side, side.tree.files()[source.file].id);
    auto new_text = read_(0, now);
    readable_ = old_text && new_text;
    if (!readable_) return false;
    old_text_ = std::move(*old_text);
    new_text_ = std::move(*new_text);
    int number = 0;
    for (std::size_t begin = 0; begin < new_text_.size();) {
      const std::size_t end = std::min(new_text_.find('\n', begin), new_text_.size());
      lines_.emplace(std::string_view(new_text_).substr(begin, end - begin), ++number);
      begin = end + 1;
    }
    return true;
  }

  const Layout& before_;
  const World& now_;
  const ReadBlob& read_;
  Places places_;
  std::optional<std::pair<std::size_t, std::size_t>> loaded_;
  bool readable_ = false;
  std::string old_text_, new_text_;
  std::unordered_map<std::string_view, int> lines_;  // of the new text, the first of equal ones
};

/// A tree as it is: nothing moves.
Layout still(Tree tree) {
  std::vector<std::optional<std::string>> same;
  for (const File& file : tree.files()) same.emplace_back(file.path);
  Tree copy = copy_of(tree);
  return layout_of(std::move(tree), std::move(same), std::move(copy));
}

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
    const Layout old_layout = layout_of(std::move(*before), std::move(images), copy_of(*after));
    const Layout new_layout = still(std::move(*after));
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
    Comparison(old_layout, new_world, *read, Places::kNew).run(*was, *is, result);
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

  const Repository& repository_;
  const VerifyOptions& options_;
};

}  // namespace

Result<Verification> verify_move(const Workspace& workspace, const Rewriting& was, Tree after,
                                 unsigned threads) {
  const Layout layout = still(std::move(after));
  const World now(layout, {workspace.names[0]});
  const OpenReader open = workspace.reader();
  const auto is = find_rewriting(now, open, {threads, true});
  if (!is) return is.error();
  const auto read = open();
  if (!read) return read.error();
  Verification result;
  result.references = is->references;
  Comparison(workspace.moves.layout, now, *read, Places::kOld).run(was, *is, result);
  return result;
}

Findings findings_of(const std::vector<Placed>& list, Severity severity, const char* rule,
                     const char* what) {
  Findings findings;
  for (const Placed& placed : list) {
    const Reference& reference = placed.reference;
    std::string message =
        fmt::format("{} '{}' {}", reference.kind, quoted_path(reference.text), what);
    if (reference.replacement)
      message += fmt::format(", '{}'", quoted_path(*reference.replacement));
    findings.push_back({severity,
                        rule,
                        {placed.path, placed.line, placed.column},
                        std::move(message),
                        reference.reason});
  }
  return findings;
}

Result<Verification> verify(const std::filesystem::path& repository, const VerifyOptions& options) {
  const auto opened = Repository::open(repository);
  if (!opened) return opened.error();
  return Verifier(*opened, options).run();
}

}  // namespace muster::reorg
