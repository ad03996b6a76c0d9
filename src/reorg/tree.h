// The files of a commit, and which paths exist in it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster::reorg {

/// Name of a git object.
struct ObjectId {
  std::array<unsigned char, 20> bytes{};
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 behind a defaulted <=> for one
  auto operator<=>(const ObjectId&) const = default;
  std::string hex() const;
};

inline constexpr std::uint32_t kModeFile = 0100644;
inline constexpr std::uint32_t kModeExecutable = 0100755;
inline constexpr std::uint32_t kModeSymlink = 0120000;
inline constexpr std::uint32_t kModeSubmodule = 0160000;

struct File {
  std::string path;
  std::uint32_t mode = kModeFile;
  ObjectId id;
  bool operator==(const File&) const = default;
};

/// The entries of a git tree object: names within one directory. Nothing: the object is damaged.
std::optional<std::vector<File>> read_tree_object(std::string_view data);

/// What a path is in a tree.
struct Entry {
  bool directory = false;
  std::size_t index = 0;  ///< into files() or directories()
};

class Tree {
 public:
  struct Directory {
    std::string_view path;
    std::size_t first = 0, last = 0;  ///< its files, at any depth: [first, last)
  };

  Tree() : Tree(std::vector<File>{}) {}
  explicit Tree(std::vector<File> files);
  Tree(Tree&&) = default;
  Tree& operator=(Tree&&) = default;
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// Sorted by path, the order in which a directory's files lie together.
  const std::vector<File>& files() const { return files_; }
  /// The root first, each before those in it.
  const std::vector<Directory>& directories() const { return directories_; }

  std::optional<Entry> find(std::string_view path) const;
  bool has(std::string_view path) const { return find(path).has_value(); }
  const File* file(std::string_view path) const;  ///< null when it is none

 private:
  std::vector<File> files_;
  std::vector<Directory> directories_;
  std::unordered_map<std::string_view, Entry> entries_;  // views into files_
};

/// Compares paths by components, so that what a directory holds lies together ('/' sorts first).
bool path_less(std::string_view a, std::string_view b);

}  // namespace muster::reorg
