#include "cli/settings.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/document.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using Type = SettingDefinition::Type;

std::string with_prefix(const std::string& name) {
  std::string result = "MUSTER_";
  for (const char c : name) result += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return result;
}

const SettingDefinition* find_definition(const std::string& name) {
  for (const SettingDefinition& definition : setting_definitions()) {
    if (name == definition.name) return &definition;
  }
  return nullptr;
}

std::string normal(const fs::path& base, const std::string& value) {
  std::string path = (base / value).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// The value in its final form (paths absolute, from `base`), or what is wrong with it.
Result<std::string> checked(const SettingDefinition& definition, const std::string& value,
                            const fs::path& base, const Position& where) {
  const std::string what = where.file.empty() ? definition.environment_name() : definition.name;
  const auto wrong = [&](const std::string& hint) {
    return Failure(error_at(where, "setting-value",
                            fmt::format("{}: '{}' is not a value for it", what, value), hint));
  };
  switch (definition.type) {
    case Type::kText:
      return value;
    case Type::kPath:
      if (value.empty()) return wrong("give a path");
      return normal(base, value);
    case Type::kChoice:
      for (const std::string& choice : definition.choices) {
        if (value == choice) return value;
      }
      return wrong(fmt::format("one of {}", fmt::join(definition.choices, ", ")));
    case Type::kInteger: {
      int number = 0;
      const char* end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, number);
      if (error != std::errc() || stop != end || number < definition.minimum) {
        return wrong(fmt::format("a whole number of at least {}", definition.minimum));
      }
      return value;
    }
  }
  return wrong("");
}

/// Adds what a settings file says; a file that is not there says nothing.
Result<void> read_file(const FileSystem& files, const fs::path& path, Settings& settings) {
  if (!files.exists(path)) return {};
  const auto text = files.read(path);
  if (!text) return text.error();
  const auto document = parse_yaml(*text, path.string());
  if (!document) return document.error();
  if (document->is_null()) return {};
  if (!document->is_mapping()) {
    return Failure(
        error_at(document->where(), "setting-file",
                 fmt::format("settings are a mapping, this is a {}", document->type_name()),
                 "write lines of the form 'name: value'"));
  }
  Findings findings;
  for (const Node::Entry& entry : document->entries()) {
    const SettingDefinition* definition = find_definition(entry.key);
    if (definition == nullptr) {
      std::vector<std::string> names;
      for (const SettingDefinition& known : setting_definitions()) names.emplace_back(known.name);
      const auto close = did_you_mean(entry.key, names);
      findings.push_back(error_at(entry.where, "setting-unknown",
                                  fmt::format("unknown setting '{}'", entry.key),
                                  close ? fmt::format("did you mean '{}'?", *close)
                                        : fmt::format("known are {}", fmt::join(names, ", "))));
      continue;
    }
    if (!entry.value.is_scalar()) {
      findings.push_back(error_at(
          entry.value.where(), "setting-value",
          fmt::format("{}: a {} is not a value for it", entry.key, entry.value.type_name())));
      continue;
    }
    auto value = checked(*definition, entry.value.text(), path.parent_path(), entry.value.where());
    if (!value) {
      for (const Finding& finding : value.findings()) findings.push_back(finding);
      continue;
    }
    settings.set(
        {entry.key, *value, fmt::format("{}:{}", path.string(), entry.value.where().line)});
  }
  if (!findings.empty()) return Failure(findings);
  return {};
}

std::optional<std::string> find_in(const std::map<std::string, std::string>& values,
                                   const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

/// $XDG_CONFIG_HOME/muster/config.yaml or ~/.config/muster/config.yaml; nothing without a home.
std::optional<fs::path> user_file(const std::map<std::string, std::string>& environment) {
  const auto config_home = find_in(environment, "XDG_CONFIG_HOME");
  if (config_home && fs::path(*config_home).is_absolute())
    return fs::path(*config_home) / "muster/config.yaml";
  const auto home = find_in(environment, "HOME");
  if (home && !home->empty()) return fs::path(*home) / ".config/muster/config.yaml";
  return std::nullopt;
}

}  // namespace

std::string SettingDefinition::environment_name() const {
  return with_prefix(name);
}

const std::vector<SettingDefinition>& setting_definitions() {
  static const std::vector<SettingDefinition> kDefinitions = {
      {"color", Type::kChoice, "auto", "color in output for people", {"auto", "always", "never"}},
      {"comm_timeout",
       Type::kInteger,
       "120",
       "seconds that a collective may take before a run is ended, where the case does not say",
       {},
       1},
      {"output",
       Type::kChoice,
       "table",
       "form of the output",
       {"table", "wide", "json", "yaml", "csv", "junit", "sarif"}},
      {"runs_dir", Type::kPath, ".muster/runs", "where runs are recorded", {}},
      {"threads",
       Type::kInteger,
       "0",
       "threads of one training process; 0: the cores divided among the processes",
       {},
       0},
      {"venv",
       Type::kPath,
       "",
       "Python environment for cases of other frameworks; none: one made from the case's "
       "requirements.txt",
       {}},
  };
  return kDefinitions;
}

fs::path find_project(const FileSystem& files, const fs::path& directory) {
  for (fs::path candidate = directory;; candidate = candidate.parent_path()) {
    if (files.exists(candidate / ".muster.yaml") || files.exists(candidate / "test_cases"))
      return candidate;
    if (candidate == candidate.parent_path()) return directory;
  }
}

Result<Settings> resolve_settings(const FileSystem& files, const SettingSources& sources) {
  const auto project_flag = find_in(sources.flags, "project");
  const auto project_variable = find_in(sources.environment, "MUSTER_PROJECT");
  Setting project{"project", "", ""};
  if (project_flag) {
    project.value = normal(sources.directory, *project_flag);
    project.origin = "flag --project";
  } else if (project_variable && !project_variable->empty()) {
    project.value = normal(sources.directory, *project_variable);
    project.origin = "environment MUSTER_PROJECT";
  } else {
    project.value = find_project(files, sources.directory).string();
    project.origin = "found from the working directory";
  }
  const auto info = files.info(fs::path(project.value) / ".");
  if (!info || info->kind != FileInfo::Kind::kDirectory) {
    return Failure(error_at({project.value, 0, 0}, "project-missing",
                            "the project is not a directory", "it was given by " + project.origin));
  }

  Settings settings;
  for (const SettingDefinition& definition : setting_definitions()) {
    const bool path = definition.type == Type::kPath && *definition.fallback != '\0';
    const std::string value =
        path ? normal(project.value, definition.fallback) : definition.fallback;
    settings.set({definition.name, value, "default"});
  }
  settings.set(project);

  Findings findings;
  const auto note = [&](const Result<void>& result) {
    findings.insert(findings.end(), result.findings().begin(), result.findings().end());
  };
  if (const auto file = user_file(sources.environment)) note(read_file(files, *file, settings));
  note(read_file(files, fs::path(project.value) / ".muster.yaml", settings));

  const auto apply = [&](const SettingDefinition& definition, const std::string& value,
                         const std::string& origin) {
    auto result = checked(definition, value, sources.directory, {});
    if (result) {
      settings.set({definition.name, *result, origin});
    } else {
      findings.insert(findings.end(), result.findings().begin(), result.findings().end());
    }
  };
  const auto no_color = find_in(sources.environment, "NO_COLOR");
  if (no_color && !no_color->empty()) settings.set({"color", "never", "environment NO_COLOR"});
  for (const SettingDefinition& definition : setting_definitions()) {
    const std::string variable = definition.environment_name();
    const auto value = find_in(sources.environment, variable);
    if (value && !value->empty()) apply(definition, *value, "environment " + variable);
  }
  for (const SettingDefinition& definition : setting_definitions()) {
    const auto value = find_in(sources.flags, definition.name);
    if (!value) continue;
    std::string flag = definition.name;
    for (char& c : flag) c = c == '_' ? '-' : c;
    apply(definition, *value, "flag --" + flag);
  }
  if (!findings.empty()) return Failure(findings);
  return settings;
}

}  // namespace muster::cli
