// Error codes of DCGM's diagnostics. The data is facts/dcgm.yaml.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

struct DcgmError {
  std::optional<int> id;  ///< absent: no header that states it was read
  std::string name;       ///< without DCGM_FR_
  std::string was;        ///< name in 3.x, when it was another
  std::string severity;   ///< reset, isolate, triage, config, monitor, unknown
};

using DcgmErrors = std::vector<DcgmError>;

/// By number, or by name with or without DCGM_FR_; null when it stands in no row.
const DcgmError* find_dcgm_error(const DcgmErrors& errors, int id);
const DcgmError* find_dcgm_error(const DcgmErrors& errors, std::string_view name);

Result<DcgmErrors> load_dcgm(const FileSystem& files, const std::filesystem::path& root);
Result<DcgmErrors> parse_dcgm(const std::string& text, const std::string& file);

}  // namespace muster::facts
