// Registries that AWS runs for everybody. The data is facts/registries.yaml.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

/// Their accounts, twelve digits each.
using PublicAccounts = std::set<std::string, std::less<>>;

Result<PublicAccounts> load_registries(const FileSystem& files, const std::filesystem::path& root);
Result<PublicAccounts> parse_registries(const std::string& text, const std::string& file);

}  // namespace muster::facts
