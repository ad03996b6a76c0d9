// What kind of text a file is: it decides which base the paths in it have.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster::reorg {

enum class FileKind {
  kMarkdown,
  kHtml,
  kNotebook,
  kJson,
  kWorkflow,  ///< also everything else under .github: its paths start at the root
  kYaml,
  kShell,
  kDockerfile,
  kMakefile,
  kPython,
  kTerraform,
  kOwners,
  kIgnore,
  kAttributes,
  kModules,
  kSymlink,
  kText,
  kBinary,  ///< not scanned
};

/// By name, mode and the first bytes.
FileKind file_kind(std::string_view path, std::uint32_t mode, std::string_view content);

/// "shell", "workflow", …: what a reference found in running text of such a file is called.
const char* to_string(FileKind kind);

}  // namespace muster::reorg
