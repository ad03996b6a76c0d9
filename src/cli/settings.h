// The settings in force: flag > environment (MUSTER_…) > project file > user file > default.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::cli {

/// What a setting is called, how it is read and what it is when nobody sets it.
struct SettingDefinition {
  enum class Type { kText, kChoice, kInteger, kPath };

  const char* name;  ///< in files; MUSTER_NAME in the environment
  Type type;
  const char* fallback;  ///< default; a path is relative to the project
  const char* help;
  std::vector<std::string> choices;  ///< of kChoice
  int minimum = 0;                   ///< of kInteger

  std::string environment_name() const;
};

const std::vector<SettingDefinition>& setting_definitions();

/// A value with where it comes from.
struct Setting {
  std::string name;
  std::string value;
  std::string origin;  ///< "flag --runs-dir", "environment MUSTER_RUNS_DIR", "FILE:LINE", "default"
};

/// All settings by name.
class Settings {
 public:
  /// The value of a defined setting; asking for another is a bug of the caller.
  const std::string& text(const std::string& name) const { return settings_.at(name).value; }
  int number(const std::string& name) const { return std::stoi(text(name)); }
  std::filesystem::path path(const std::string& name) const { return text(name); }
  bool resolved() const { return !settings_.empty(); }

  const std::map<std::string, Setting>& all() const { return settings_; }
  void set(Setting setting) { settings_[setting.name] = std::move(setting); }

 private:
  std::map<std::string, Setting> settings_;
};

/// Where settings are looked for.
struct SettingSources {
  std::map<std::string, std::string> flags;  ///< by setting name; only those given
  std::map<std::string, std::string> environment;
  std::filesystem::path directory;  ///< the working directory, absolute
};

/// The project's directory: the nearest one, from `directory` upwards, with .muster.yaml or
/// test_cases/; else `directory`.
std::filesystem::path find_project(const FileSystem& files, const std::filesystem::path& directory);

/// Reads the files and puts the sources together. Failures are located in the file, or name the
/// variable.
Result<Settings> resolve_settings(const FileSystem& files, const SettingSources& sources);

}  // namespace muster::cli
