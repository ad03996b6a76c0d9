// Checksums of content.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view content);

/// Of a file, read piece by piece. Failure: it can't be read.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace muster
