// The files that all images keep beside their manifests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::images {

struct KeptImages {
  struct File {
    std::filesystem::path path;
    std::string content;
  };
  std::vector<File> files;
  std::vector<std::filesystem::path> strays;
  int images = 0;
};

/// Errors: every image that can't be read or rendered, located.
Result<KeptImages> kept_images(const FileSystem& files, const std::filesystem::path& project);

}  // namespace muster::images
