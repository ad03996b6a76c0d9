// Rules that hold for paths by pattern: what git ignores, which attributes it gives, who owns a
// file, which files a workflow watches.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::reorg {

/// Whether a pattern matches a whole path: '*' and '?' stay within a component, '**' crosses them.
bool glob_matches(std::string_view pattern, std::string_view path);

/// One rule of an ignore or attributes file.
struct PathRule {
  std::string directory;  ///< that its file lies in
  std::string pattern;    ///< without '!', and without slashes at its ends
  bool negated = false;
  bool directories_only = false;
  bool anchored = false;  ///< to the directory; else it holds for names at any depth
  std::string value;      ///< attributes or owners

  bool matches(std::string_view path, bool is_directory) const;
};

/// .gitignore files, from the top down.
class IgnoreRules {
 public:
  void add(std::string_view directory, std::string_view content);
  bool ignored(std::string_view path) const;

 private:
  bool excluded(std::string_view path, bool is_directory) const;
  std::map<std::string, std::vector<PathRule>, std::less<>> by_directory_;
  mutable std::map<std::string, bool, std::less<>> directories_;
};

/// .gitattributes files.
class AttributeRules {
 public:
  void add(std::string_view directory, std::string_view content);
  /// What git would apply, as "name=value" in order of names; unset attributes as "-name".
  std::string of(std::string_view path) const;

 private:
  std::map<std::string, std::vector<PathRule>, std::less<>> by_directory_;
};

/// A CODEOWNERS file: the last rule that matches decides.
class OwnerRules {
 public:
  explicit OwnerRules(std::string_view content);
  std::string of(std::string_view path) const;

 private:
  std::vector<PathRule> rules_;
};

}  // namespace muster::reorg
