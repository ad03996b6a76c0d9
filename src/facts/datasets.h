// Data sets that a case names: what makes them and how to know them. The data is
// facts/datasets.yaml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

/// A file that a package installs.
struct DatasetFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;  ///< lower-case hexadecimal
};

/// A text that a command prints, or a directory of files that a package installs.
struct Dataset {
  std::string name;
  std::string description;
  std::string package;               ///< Debian package that has the command or the files
  std::vector<std::string> command;  ///< prints the text on standard output
  std::uint64_t bytes = 0;           ///< of the text
  std::string sha256;                ///< of the text, lower-case hexadecimal
  std::string directory;             ///< absolute; empty where there is a command
  std::vector<DatasetFile> files;    ///< in the directory
  std::optional<std::uint64_t> words;
  std::string licence;
  std::string source, date;
  Position where;
};

Result<std::vector<Dataset>> load_datasets(const FileSystem& files,
                                           const std::filesystem::path& root);
Result<std::vector<Dataset>> parse_datasets(const std::string& text, const std::string& file);

/// By name; failure with "did you mean".
Result<Dataset> find_dataset(const std::vector<Dataset>& datasets, const std::string& name);

}  // namespace muster::facts
