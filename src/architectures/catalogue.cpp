#include "architectures/catalogue.h"

#include <algorithm>

#include <fmt/format.h>

#include "facts/reading.h"

namespace muster::architectures {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "architectures";
constexpr const char* kManifest = "architecture.yaml";

/// The project's own folder, else the installation's.
fs::path folder_of(const FileSystem& files, const fs::path& project) {
  fs::path own = project / kFolder;
  if (files.exists(own)) return own;
  fs::path installed = facts::share_directory() / kFolder;
  return files.exists(installed) ? installed : own;
}

}  // namespace

std::vector<std::string> architecture_names(const FileSystem& files, const fs::path& project) {
  const fs::path folder = folder_of(files, project);
  std::vector<std::string> names;
  const auto entries = files.list(folder);
  if (!entries) return names;
  for (const std::string& name : *entries) {
    if (files.exists(folder / name / kManifest)) names.push_back(name);
  }
  return names;
}

Result<catalog::Architecture> load_architecture(const FileSystem& files, const fs::path& project,
                                                const std::string& name) {
  const auto names = architecture_names(files, project);
  if (std::find(names.begin(), names.end(), name) == names.end())
    return facts::unknown_name("architecture", name, names);
  const fs::path path = folder_of(files, project) / name / kManifest;
  const auto text = files.read(path);
  if (!text) return text.error();
  return catalog::read_architecture(*text, path.string());
}

Result<Templates> load_templates(const FileSystem& files, const fs::path& project,
                                 const catalog::Architecture& architecture) {
  Templates templates;
  const fs::path folder = folder_of(files, project) / architecture.name;
  for (const catalog::StackStep& stack : architecture.stacks) {
    const auto text = files.read((folder / stack.template_file).lexically_normal());
    if (!text)
      return Failure(
          error_at(stack.where, "architecture-template", text.findings().front().message));
    templates[stack.template_file] = *text;
  }
  return templates;
}

std::vector<fs::path> example_clusters(const FileSystem& files, const fs::path& project,
                                       const std::string& name) {
  std::vector<fs::path> paths;
  const fs::path folder = folder_of(files, project) / name / "examples";
  const auto entries = files.list(folder);
  if (!entries) return paths;
  for (const std::string& entry : *entries) {
    const fs::path path = folder / entry / "cluster.yaml";
    if (files.exists(path)) paths.push_back(path);
  }
  return paths;
}

Result<Plan> plan_file(const FileSystem& files, const fs::path& project, const fs::path& path,
                       const facts::Facts& known) {
  const auto text = files.read(path);
  if (!text) return text.error();
  const auto cluster = catalog::read_cluster(*text, path.string(), known);
  if (!cluster) return cluster.error();
  const auto architecture = load_architecture(files, project, cluster->architecture);
  if (!architecture) {
    Finding why = architecture.findings().front();
    if (why.rule == "unknown-name") why.where = cluster->architecture_where;
    return Failure(std::move(why));
  }
  const auto templates = load_templates(files, project, *architecture);
  if (!templates) return templates.error();
  return plan_cluster(*cluster, *architecture, *templates, known);
}

}  // namespace muster::architectures
