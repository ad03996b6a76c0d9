// Paths of a git tree as text: components joined by '/', no leading or trailing one, "" is the
// root. They are bytes, not file system paths: any byte but NUL may occur.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::reorg {

/// The parts between slashes; none of the root.
std::vector<std::string_view> components(std::string_view path);

std::string_view parent_of(std::string_view path);  ///< "" of what lies at the top
std::string_view name_of(std::string_view path);    ///< the last component
std::string joined(std::string_view directory, std::string_view rest);

/// Whether `path` is `directory` or lies below it. Everything lies below the root.
bool is_under(std::string_view path, std::string_view directory);

/// `path` without its first part `directory`, which it is under.
std::string_view below(std::string_view path, std::string_view directory);

/// What a relative text leads to from a directory.
struct Resolved {
  std::string path;
  int above = 0;  ///< how many levels above the root it ends; then `path` is what follows them
};
Resolved resolve(std::string_view directory, std::string_view text);

/// The relative text that leads from a directory to a path: "../x/y", "." to itself.
std::string relative_to(std::string_view directory, std::string_view path);

/// The deepest directory that both are under.
std::string_view common_directory(std::string_view a, std::string_view b);

/// ASCII letters made small; other bytes stay.
std::string lower(std::string_view text);

/// A path on one line, as git quotes it: unchanged, or in quotes with \n, \t, \", \\ and octal
/// escapes.
std::string quoted_path(std::string_view path);

/// The reverse; nothing is checked: what is no valid quoting stays as it is.
std::string unquoted_path(std::string_view text);

}  // namespace muster::reorg
