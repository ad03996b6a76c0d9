// Version floors of what images hold. The data is facts/versions.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

/// Component -> oldest version that passes.
using Floors = std::map<std::string, std::string>;

Result<Floors> load_floors(const FileSystem& files, const std::filesystem::path& root);
Result<Floors> parse_floors(const std::string& text, const std::string& file);

}  // namespace muster::facts
