// What points into the repository from outside: by which access, at which ref, and what it would
// say when pinned to a tag of the old layout or when it follows the move.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"
#include "reorg/rewrite.h"
#include "reorg/workspace.h"

namespace muster::reorg {

/// What pins a place: a piece of its file, and what stands there then.
struct PinEdit {
  std::size_t begin = 0, size = 0;
  std::string text;
  bool operator==(const PinEdit&) const = default;
};

/// One place that reads the repository.
struct Access {
  std::string file;
  int line = 0, column = 0;
  std::string how;      ///< "raw URL", "page", "contents API", "clone", "parameter"
  std::string text;     ///< the URL or path as it stands
  std::string target;   ///< the old path
  std::string ref;      ///< that it names; empty: the clone's or another parameter's
  bool moves = false;   ///< its target moves, so that it breaks unless it is pinned
  bool pinned = false;  ///< names a tag, a commit or another branch: the move does not touch it
  bool dead = false;
  std::optional<std::string> pinned_form;  ///< with the tag
  PinEdit pin;                             ///< to the pinned form
  std::optional<std::string> new_form;     ///< after the move
  Confidence confidence = Confidence::kCertain;
  Reference edit;         ///< to the new form
  std::size_t begin = 0;  ///< of `text` in the file
};

struct ConsumerReport {
  std::string name;
  std::size_t files = 0;
  std::vector<Access> accesses;
};

/// The files of a consumer, as they lie in a folder or in a commit of a clone.
struct ConsumerTree {
  std::vector<std::pair<std::string, std::string>> files;  ///< path and content, sorted
};
Result<ConsumerTree> read_consumer(const FileSystem& files, const std::filesystem::path& from,
                                   const std::string& revision);

/// `tag`: of the old layout; empty: no pinned forms.
ConsumerReport find_accesses(const Workspace& workspace, const std::string& name,
                             const ConsumerTree& tree, const std::string& tag);

/// The fewest old paths that must stay for these accesses to go on.
std::vector<std::string> paths_to_keep(const std::vector<ConsumerReport>& reports);

/// The file's text with its accesses in their new or pinned form.
std::string consumer_text(const std::string& content, const std::vector<const Access*>& accesses,
                          bool pin);

}  // namespace muster::reorg
