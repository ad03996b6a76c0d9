#include "reorg/consumers.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "reorg/git.h"
#include "reorg/paths.h"
#include "reorg/scan.h"
#include "reorg/url.h"

namespace muster::reorg {
namespace {

Result<void> read_folder(const FileSystem& files, const std::filesystem::path& from,
                         const std::string& prefix, ConsumerTree& tree) {
  const auto names = files.list(from / prefix);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (name == ".git") continue;
    const std::string path = joined(prefix, name);
    const auto info = files.info(from / path);
    if (!info) continue;
    if (info->kind == FileInfo::Kind::kDirectory) {
      if (auto below = read_folder(files, from, path, tree); !below) return below;
    } else if (info->kind == FileInfo::Kind::kFile) {
      auto content = files.read(from / path);
      if (!content) return content.error();
      tree.files.emplace_back(path, std::move(*content));
    }
  }
  return {};
}

/// The URL around an offset, if it is one.
std::optional<Span> url_around(std::string_view content, std::size_t offset) {
  const std::size_t newline = content.rfind('\n', offset);
  const std::size_t line = newline == std::string_view::npos ? 0 : newline;
  std::size_t begin = content.rfind("http", offset);
  if (begin == std::string_view::npos || begin < line) {
    begin = content.rfind("github.com", offset);
    if (begin == std::string_view::npos || begin < line) return std::nullopt;
  }
  const std::size_t end = url_end(content, begin);
  if (end < offset) return std::nullopt;
  return Span{begin, end};
}

std::string with_tag(std::string_view content, Span url, const GithubUrl& parsed,
                     std::string_view ref, const std::string& tag) {
  std::string text(slice(content, url));
  if (parsed.contents) {
    const std::size_t query = parsed.query_ref.begin;
    if (parsed.query_ref.size() > 0) {
      text.replace(query - url.begin, parsed.query_ref.size(), tag);
    } else {
      text += (text.find('?') == std::string::npos ? "?ref=" : "&ref=") + tag;
    }
    return text;
  }
  const std::size_t at = parsed.ref_and_path.begin - url.begin;
  const bool full = text.compare(at, 11, "refs/heads/") == 0;
  text.replace(at, (full ? 11 : 0) + ref.size(), (full ? "refs/tags/" : "") + tag);
  return text;
}

/// "git clone" before an offset whose URL is the repository's: how it takes the tag's tree.
std::optional<PinEdit> pinned_clone(const World& world, std::string_view content,
                                    std::size_t offset, const std::string& tag) {
  constexpr std::string_view kClone = "git clone";
  for (std::size_t at = content.rfind(kClone, offset); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : content.rfind(kClone, at - 1)) {
    const std::size_t begin = at + kClone.size();
    const std::string_view line = content.substr(begin, content.find('\n', begin) - begin);
    const std::size_t host = line.find("github.com");
    const auto url =
        host == std::string_view::npos ? std::nullopt : url_around(content, begin + host);
    const auto parsed = url ? parse_github_url(content, *url) : std::nullopt;
    if (!parsed || world.side_named(slice(content, parsed->repository)) != std::size_t{0}) continue;
    for (const std::string_view option : {" --branch ", " -b "}) {
      const std::size_t there = line.find(option);
      if (there == std::string_view::npos) continue;
      const std::size_t value = there + option.size();
      const std::size_t end = std::min(line.find_first_of(" \"'\\", value), line.size());
      return PinEdit{begin + value, end - value, tag};
    }
    return PinEdit{begin, 0, " --branch " + tag};
  }
  return std::nullopt;
}

/// The value of the parameter that says which ref a path beside it is of: the nearest that names a
/// ref of the repository, or the tag.
std::optional<Span> ref_parameter(const World& world, std::string_view content, std::size_t offset,
                                  const std::string& tag) {
  constexpr std::size_t kNearest = 2000, kLinesBelow = 4;
  const SideNames& refs = world.names(0);
  const auto is_ref = [&](std::string_view value) {
    return value == tag ||
           std::find(refs.branches.begin(), refs.branches.end(), value) != refs.branches.end() ||
           std::find(refs.other.begin(), refs.other.end(), value) != refs.other.end();
  };
  std::optional<Span> best;
  std::size_t best_distance = kNearest, named = kLinesBelow;  // lines since a name of a branch
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    const std::string_view line = content.substr(begin, end - begin);
    const std::size_t colon = std::min(line.find_first_of(":="), line.size());
    const std::string key = lower(line.substr(0, colon));
    const bool names = key.find("branch") != std::string::npos ||
                       key.find("revision") != std::string::npos ||
                       key.find("ref") != std::string::npos;
    named = names ? 0 : named + 1;
    const bool is_default = key.find("default") != std::string::npos && named < kLinesBelow;
    constexpr std::string_view kAround = " \t\r\"',:=";
    const std::size_t first = line.find_first_not_of(kAround, colon);
    if ((names || is_default) && first != std::string_view::npos) {
      const std::size_t last = line.find_last_not_of(kAround);
      const std::string_view value = line.substr(first, last + 1 - first);
      const std::size_t at = begin + first;
      const std::size_t distance = at > offset ? at - offset : offset - at;
      if (distance < best_distance && is_ref(value)) {
        best_distance = distance;
        best = Span{at, at + value.size()};
      }
    }
    begin = end + 1;
  }
  return best;
}

/// What a URL or a path in a text is, beyond its reference.
void describe(const World& world, std::string_view content, const std::string& tag,
              const Reference& reference, Access& access) {
  const auto url = url_around(content, reference.offset);
  const auto parsed = url ? parse_github_url(content, *url) : std::nullopt;
  access.begin = reference.offset;
  if (!parsed || !parsed->in_tree) {
    access.how = std::string_view(reference.kind) == "parameter" ? "parameter" : "clone";
    access.text = reference.text;
    access.new_form = reference.replacement;
    if (!access.moves) return;
    if (access.how == "clone") {
      const auto pin =
          tag.empty() ? std::nullopt : pinned_clone(world, content, reference.offset, tag);
      if (!pin) return;
      access.pin = *pin;
      access.pinned_form = "git clone --branch " + tag;
      return;
    }
    const auto ref = ref_parameter(world, content, reference.offset, tag);
    if (!ref) return;
    access.ref = slice(content, *ref);
    const auto& branches = world.names(0).branches;
    if (std::find(branches.begin(), branches.end(), access.ref) == branches.end()) {
      access.pinned = true;
      access.moves = false;
      access.new_form.reset();
    } else if (!tag.empty()) {
      access.pin = {ref->begin, ref->size(), tag};
      access.pinned_form = access.text + " at " + tag;
    }
    return;
  }
  const bool raw =
      slice(content, *url).find("raw.githubusercontent.com") != std::string_view::npos ||
      slice(content, *url).find("/raw/") != std::string_view::npos;
  access.how = parsed->contents ? "contents API" : raw ? "raw URL" : "page";
  access.text = std::string(slice(content, *url));
  access.begin = url->begin;
  std::string_view rest = slice(content, parsed->ref_and_path);
  if (rest.substr(0, 11) == "refs/heads/") rest.remove_prefix(11);
  for (const std::string& branch : world.names(0).branches) {
    if (is_under(rest, branch)) access.ref = branch;
  }
  if (parsed->contents) access.ref = std::string(slice(content, parsed->query_ref));
  if (access.ref.empty() && !parsed->contents) access.ref = rest.substr(0, rest.find('/'));
  if (reference.replacement) {
    access.new_form = access.text;
    access.new_form->replace(reference.offset - url->begin, reference.text.size(),
                             *reference.replacement);
  }
  if (!tag.empty() && access.moves) {
    access.pinned_form = with_tag(content, *url, *parsed, access.ref, tag);
    access.pin = {url->begin, url->size(), *access.pinned_form};
  }
}

}  // namespace

Result<ConsumerTree> read_consumer(const FileSystem& files, const std::filesystem::path& from,
                                   const std::string& revision) {
  ConsumerTree tree;
  if (revision.empty()) {
    if (auto read = read_folder(files, from, "", tree); !read) return read.error();
    return tree;
  }
  const auto repository = Repository::open(from);
  if (!repository) return repository.error();
  const auto commit = repository->commit_of(revision);
  if (!commit) return commit.error();
  const auto listed = repository->tree_of(*commit);
  if (!listed) return listed.error();
  for (const File& file : listed->files()) {
    if (file.mode == kModeSubmodule || file.mode == kModeSymlink) continue;
    auto content = repository->blob(file.id);
    if (!content) return content.error();
    tree.files.emplace_back(file.path, std::move(*content));
  }
  return tree;
}

ConsumerReport find_accesses(const Workspace& workspace, const std::string& name,
                             const ConsumerTree& tree, const std::string& tag) {
  // The repository that moves, and the consumer beside it: nothing of that moves.
  const Side& moved = workspace.moves.layout.sides[0];
  static const RepositoryPlan kNoPlan;
  Layout layout;
  Side first;
  first.plan = moved.plan;
  first.tree = Tree(std::vector<File>(moved.tree.files()));
  first.images = moved.images;
  first.rules = moved.rules;
  first.directories = moved.directories;
  Side second;
  second.plan = &kNoPlan;
  std::vector<File> files;
  for (const auto& [path, content] : tree.files) files.push_back({path, kModeFile, {}});
  second.tree = Tree(std::move(files));
  for (const File& file : second.tree.files()) second.images.emplace_back(file.path);
  second.rules.resize(second.images.size());
  fill_directories(second, Rules({}));
  layout.sides.push_back(std::move(first));
  layout.sides.push_back(std::move(second));
  World world(layout, {workspace.names[0], {}});
  world.set_foreign(1);

  std::map<std::string_view, const std::string*> contents;
  for (const auto& [path, content] : tree.files) contents[path] = &content;
  ConsumerReport report;
  report.name = name;
  report.files = tree.files.size();
  for (std::size_t i = 0; i < layout.sides[1].tree.files().size(); ++i) {
    const std::string& path = layout.sides[1].tree.files()[i].path;
    const std::string& content = *contents.at(path);
    for (const Reference& reference : scan_file(world, {1, i}, content)) {
      if (reference.side != 0) continue;
      Access access;
      const Position where = position_at(content, reference.offset, path);
      access.file = path;
      access.line = where.line;
      access.column = where.column;
      access.target = reference.target;
      access.confidence = reference.confidence;
      access.moves = reference.replacement.has_value();
      access.pinned = reference.standing == Standing::kPinned;
      access.dead = reference.standing == Standing::kDead;
      access.edit = reference;
      describe(world, content, tag, reference, access);
      report.accesses.push_back(std::move(access));
    }
  }
  return report;
}

std::vector<std::string> paths_to_keep(const std::vector<ConsumerReport>& reports) {
  std::set<std::string> paths;
  for (const ConsumerReport& report : reports) {
    for (const Access& access : report.accesses) {
      if (access.moves && !access.pinned) paths.insert(access.target);
    }
  }
  std::vector<std::string> fewest;
  for (const std::string& path : paths) {
    const bool covered = std::any_of(paths.begin(), paths.end(), [&](const std::string& other) {
      return other != path && is_under(path, other);
    });
    if (!covered) fewest.push_back(path);
  }
  return fewest;
}

std::string consumer_text(const std::string& content, const std::vector<const Access*>& accesses,
                          bool pin) {
  std::vector<PinEdit> edits;
  for (const Access* access : accesses) {
    const auto& form = pin ? access->pinned_form : access->new_form;
    if (!form || access->confidence == Confidence::kUnsure) continue;
    edits.push_back(pin ? access->pin : PinEdit{access->begin, access->text.size(), *form});
  }
  std::stable_sort(edits.begin(), edits.end(),
                   [](const PinEdit& a, const PinEdit& b) { return a.begin < b.begin; });
  // Several paths of one clone share what pins it.
  edits.erase(std::unique(edits.begin(), edits.end()), edits.end());
  std::string result;
  std::size_t at = 0;
  for (const PinEdit& edit : edits) {
    if (edit.begin < at) continue;
    result.append(content, at, edit.begin - at);
    result += edit.text;
    at = edit.begin + edit.size;
  }
  return result.append(content, at, std::string::npos);
}

}  // namespace muster::reorg
