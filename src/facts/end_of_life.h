// Images and registries that nobody mends any more, and which CUDA NVIDIA's containers hold. The
// data is facts/end-of-life.yaml.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

struct OldImage {
  std::string image;  ///< last part of the image's name
  std::string tag;    ///< how its tag starts; empty: any
  std::string since, successor, source;
};

struct OldRegistry {
  std::string registry, since, successor, source;
};

/// From this release (YY.MM) on, NVIDIA's framework containers hold this CUDA.
struct NgcRelease {
  std::string cuda, release;
};

struct EndOfLife {
  std::vector<OldImage> images;
  std::vector<OldRegistry> registries;
  std::vector<NgcRelease> ngc;  ///< newest first
};

Result<EndOfLife> load_end_of_life(const FileSystem& files, const std::filesystem::path& root);
Result<EndOfLife> parse_end_of_life(const std::string& text, const std::string& file);

/// The row for an image of this name (its last part) and tag, or null. A tag counts by its parts:
/// "3.1" is not the start of "3.11", "20.04" is one of "20.04-slim".
const OldImage* find_old_image(const EndOfLife& facts, const std::string& image,
                               const std::string& tag);

}  // namespace muster::facts
