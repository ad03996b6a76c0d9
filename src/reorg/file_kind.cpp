#include "reorg/file_kind.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "reorg/paths.h"
#include "reorg/tree.h"

namespace muster::reorg {
namespace {

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

constexpr std::array<std::pair<std::string_view, FileKind>, 22> kEndings = {{
    {".md", FileKind::kMarkdown},
    {".markdown", FileKind::kMarkdown},
    {".mdx", FileKind::kMarkdown},
    {".html", FileKind::kHtml},
    {".htm", FileKind::kHtml},
    {".ipynb", FileKind::kNotebook},
    {".json", FileKind::kJson},
    {".jsonl", FileKind::kJson},
    {".yaml", FileKind::kYaml},
    {".yml", FileKind::kYaml},
    {".sh", FileKind::kShell},
    {".bash", FileKind::kShell},
    {".sbatch", FileKind::kShell},
    {".slurm", FileKind::kShell},
    {".zsh", FileKind::kShell},
    {".mk", FileKind::kMakefile},
    {".py", FileKind::kPython},
    {".tf", FileKind::kTerraform},
    {".tfvars", FileKind::kTerraform},
    {".dockerfile", FileKind::kDockerfile},
    {".containerfile", FileKind::kDockerfile},
    {".hcl", FileKind::kTerraform},
}};

}  // namespace

FileKind file_kind(std::string_view path, std::uint32_t mode, std::string_view content) {
  constexpr std::size_t kLookedAt = 8000;
  if (mode == kModeSymlink) return FileKind::kSymlink;
  if (mode == kModeSubmodule) return FileKind::kBinary;
  if (content.substr(0, kLookedAt).find('\0') != std::string_view::npos) return FileKind::kBinary;
  const std::string name = lower(name_of(path));
  if (name == "codeowners") return FileKind::kOwners;
  if (name == ".gitignore" || name == ".dockerignore" || name == ".helmignore" ||
      name == ".npmignore") {
    return FileKind::kIgnore;
  }
  if (name == ".gitattributes") return FileKind::kAttributes;
  if (name == ".gitmodules") return FileKind::kModules;
  if (name == "dockerfile" || name.rfind("dockerfile.", 0) == 0 || ends_with(name, "-dockerfile"))
    return FileKind::kDockerfile;
  if (name == "makefile" || name == "gnumakefile") return FileKind::kMakefile;
  for (const auto& [ending, kind] : kEndings) {
    if (!ends_with(name, ending)) continue;
    const bool github = is_under(path, ".github") && kind != FileKind::kMarkdown;
    return github ? FileKind::kWorkflow : kind;
  }
  if (is_under(path, ".github")) return FileKind::kWorkflow;
  if (content.substr(0, 2) == "#!") {
    const std::string_view line = content.substr(0, content.find('\n'));
    if (line.find("sh") != std::string_view::npos) return FileKind::kShell;
    if (line.find("python") != std::string_view::npos) return FileKind::kPython;
  }
  return FileKind::kText;
}

const char* to_string(FileKind kind) {
  switch (kind) {
    case FileKind::kMarkdown:
      return "prose";
    case FileKind::kHtml:
      return "html";
    case FileKind::kNotebook:
      return "notebook";
    case FileKind::kJson:
      return "json";
    case FileKind::kWorkflow:
      return "workflow";
    case FileKind::kYaml:
      return "yaml";
    case FileKind::kShell:
      return "shell";
    case FileKind::kDockerfile:
      return "dockerfile";
    case FileKind::kMakefile:
      return "makefile";
    case FileKind::kPython:
      return "python";
    case FileKind::kTerraform:
      return "terraform";
    case FileKind::kOwners:
      return "owners";
    case FileKind::kIgnore:
      return "ignore";
    case FileKind::kAttributes:
      return "attributes";
    case FileKind::kModules:
      return "submodule";
    case FileKind::kSymlink:
      return "symlink";
    case FileKind::kText:
      return "text";
    case FileKind::kBinary:
      return "binary";
  }
  return "";
}

}  // namespace muster::reorg
