// Which manifest a name means.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/schema.h"
#include "catalog/case.h"
#include "catalog/case_schema.h"
#include "catalog/manifest.h"

namespace muster::catalog {
namespace {

namespace fs = std::filesystem;

// Where cases are. A name leaves the first out, since nearly all cases are there, and has the
// others.
constexpr std::array<const char*, 2> kFolders = {"test_cases", "micro-benchmarks"};
constexpr const char* kManifest = "case.yaml";
constexpr int kMaxDepth = 12;

void collect(const FileSystem& files, const fs::path& folder, int depth,
             std::vector<fs::path>& found) {
  const auto names = files.list(folder);
  if (!names || depth > kMaxDepth) return;
  for (const std::string& name : *names) {
    const auto info = files.info(folder / name);
    if (!info) continue;
    if (info->kind == FileInfo::Kind::kDirectory) collect(files, folder / name, depth + 1, found);
    if (info->kind == FileInfo::Kind::kFile && name == kManifest) found.push_back(folder / name);
  }
}

// Whose cases they are: the project's, or the installation's when the project has none.
fs::path home_of_cases(const FileSystem& files, const fs::path& root) {
  const fs::path shared = facts::share_directory();
  const auto has_cases = [&files](const fs::path& where) {
    return std::any_of(kFolders.begin(), kFolders.end(),
                       [&](const char* folder) { return files.exists(where / folder); });
  };
  return !has_cases(root) && has_cases(shared) ? shared : root;
}

std::vector<fs::path> manifests(const FileSystem& files, const fs::path& root) {
  std::vector<fs::path> found;
  for (const char* folder : kFolders) collect(files, root / folder, 0, found);
  std::sort(found.begin(), found.end());
  return found;
}

bool is_below(const std::string& name, const std::string& folder) {
  return name.rfind(folder + "/", 0) == 0;
}

// Without the first folder.
std::string short_name(std::string path) {
  const std::string first = kFolders.front();
  if (is_below(path, first)) path = path.substr(first.size() + 1);
  return path;
}

std::string name_of(const fs::path& manifest, const fs::path& root) {
  return short_name(manifest.parent_path().lexically_relative(root).generic_string());
}

// Only what says which case is the default, so that a mistake elsewhere does not hide the case.
bool is_marked_default(const FileSystem& files, const fs::path& manifest) {
  const auto text = files.read(manifest);
  if (!text) return false;
  const auto document = parse_yaml(*text, manifest.string());
  return document && document->is_mapping() && boolean_at(*document, "default").value_or(false);
}

}  // namespace

std::string case_name_of(const fs::path& manifest, const fs::path& root) {
  const std::string path = fs::absolute(manifest)
                               .lexically_normal()
                               .parent_path()
                               .lexically_relative(fs::absolute(root).lexically_normal())
                               .generic_string();
  const bool inside = std::any_of(kFolders.begin(), kFolders.end(),
                                  [&](const char* folder) { return is_below(path, folder); });
  return inside && manifest.filename() == kManifest ? short_name(path) : std::string();
}

Result<std::vector<CaseEntry>> list_cases(const FileSystem& files, const fs::path& project) {
  const fs::path root = home_of_cases(files, project);
  const auto known = facts::load_facts(files, project);
  if (!known) return known.error();
  std::vector<CaseEntry> entries;
  for (const fs::path& file : manifests(files, root)) {
    CaseEntry entry;
    entry.name = name_of(file, root);
    entry.file = file;
    const auto text = files.read(file);
    const auto document = text ? parse_yaml(*text, file.string()) : Result<Node>(text.error());
    if (!document) {
      entry.problems = document.findings();
    } else {
      entry.problems = check_manifest(*document, entry.name, *known);
      if (document->is_mapping()) {
        entry.description = text_at(*document, "description");
        entry.framework = text_at(*document, "case.framework");
        entry.library = text_at(*document, "case.library");
        entry.model = text_at(*document, "case.model");
        entry.kind = text_at(*document, "case.kind");
        if (entry.kind.empty()) entry.kind = "train";
        entry.coverage = coverage_of(*document);
        entry.is_default = boolean_at(*document, "default").value_or(false);
        const Node* profiles = node_at(*document, "profiles");
        if (profiles) {
          for (const Node::Entry& profile : profiles->entries())
            entry.profiles.push_back(profile.key);
        }
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<fs::path> find_case(const FileSystem& files, const fs::path& project,
                           const std::string& name) {
  const fs::path root = home_of_cases(files, project);
  // A path that is there is that file; a folder is the manifest in it.
  const fs::path path(name);
  if (const auto info = files.info(path)) {
    if (info->kind == FileInfo::Kind::kFile) return path;
    if (files.exists(path / kManifest)) return path / kManifest;
  }
  std::string wanted = fs::path(name).lexically_normal().generic_string();
  while (!wanted.empty() && wanted.back() == '/') wanted.pop_back();
  wanted = short_name(wanted);

  std::vector<std::string> names, below;
  std::vector<fs::path> within, defaults;
  for (const fs::path& file : manifests(files, root)) {
    const std::string known = name_of(file, root);
    if (known == wanted) return file;
    names.push_back(known);
    if (!is_below(known, wanted)) continue;
    below.push_back(known);
    within.push_back(file);
    if (is_marked_default(files, file)) defaults.push_back(file);
  }
  if (defaults.size() == 1) return defaults[0];
  if (within.size() == 1) return within[0];
  if (!below.empty()) {
    return failure("case-ambiguous",
                   fmt::format("\"{}\" is a folder of {} cases, {}", wanted, below.size(),
                               defaults.empty() ? "none of them marked default"
                                                : "several of them marked default"),
                   fmt::format("one of: {}", fmt::join(below, ", ")));
  }
  // A typo may be in any part, or the name may stop at a library: offer those too.
  std::vector<std::string> candidates = names;
  for (const std::string& known : names) {
    for (auto cut = known.rfind('/'); cut != std::string::npos && cut > 0;
         cut = known.rfind('/', cut - 1)) {
      candidates.push_back(known.substr(0, cut));
    }
  }
  const auto meant = did_you_mean(wanted, candidates);
  return failure("unknown-name", fmt::format("unknown case \"{}\"", name),
                 meant           ? fmt::format("did you mean \"{}\"?", *meant)
                 : names.empty() ? fmt::format("there are no cases below {}",
                                               (root / kFolders.front()).string())
                                 : "muster list cases shows them all");
}

Result<ResolvedCase> load_case(const FileSystem& files, const fs::path& root,
                               const std::string& name, const std::string& profile,
                               const std::vector<Override>& overrides) {
  const auto file = find_case(files, root, name);
  if (!file) return file.error();
  const auto text = files.read(*file);
  if (!text) return text.error();
  const auto document = parse_yaml(*text, file->string());
  if (!document) return document.error();
  const auto known = facts::load_facts(files, root);
  if (!known) return known.error();
  auto resolved = resolve(*document, case_name_of(*file, home_of_cases(files, root)), profile,
                          overrides, *known);
  if (resolved) resolved->file = *file;
  return resolved;
}

}  // namespace muster::catalog
