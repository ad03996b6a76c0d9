// Writes many objects as one pack of git's. As files of their own, tens of thousands of them cost
// more in opening, renaming and looking up than in their bytes.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "reorg/tree.h"

namespace muster::reorg {

/// Numbers of git's.
enum class PackedType { kTree = 2, kBlob = 3 };

/// From so many on, objects are a pack, as when git receives them.
inline constexpr std::size_t kManyObjects = 100;

class PackWriter {
 public:
  /// A pack that grows beside those of a repository, in objects/pack, under a name that git and its
  /// gc know as unfinished.
  static Result<std::unique_ptr<PackWriter>> create(const std::filesystem::path& objects);
  /// One that was not finished leaves nothing.
  ~PackWriter();

  /// Adds an object, once however often it is given. From any thread.
  Result<ObjectId> add(PackedType type, std::string_view content);

  /// Writes the index and gives both their names, the index last: only then is the pack there. A
  /// pack without objects is none. As libgit2 writes objects, it leaves flushing to the system.
  Result<void> finish();

 private:
  struct State;
  explicit PackWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster::reorg
