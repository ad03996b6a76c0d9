// What the catalog pins from elsewhere: container images, tags of repositories, Python packages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/finding.h"
#include "base/result.h"

namespace muster::lock {

enum class PinKind { kImage, kRepository, kPackage };

/// "image", "repository", "package".
const char* to_string(PinKind kind);

struct Pin {
  PinKind kind = PinKind::kImage;
  std::string name;     ///< nvcr.io/nvidia/nemo:26.02, https://github.com/a/b.git, torch
  std::string version;  ///< of a repository its tag or branch, of a package its version; else empty
  /// Further indexes that the package may come from, as the file names them.
  std::vector<std::string> indexes;
  Position where;  ///< the first place, in the order of the files' paths

  /// The same pin, wherever it stands: "torch==2.15.0", "https://github.com/a/b.git@v1".
  std::string key() const;
};

/// The pins in one file by its name: case.yaml, Dockerfile, requirements.txt; nothing for others.
/// What is filled in later (${REGISTRY}) and what a commit or a digest fixes already is no pin.
std::vector<Pin> pins_of(const std::string& text, const std::filesystem::path& path);

/// Of all files below `folder`, by kind and key, each once. Failure: a file can't be read.
Result<std::vector<Pin>> collect_pins(const FileSystem& files, const std::filesystem::path& folder);

}  // namespace muster::lock
