// A reference: a piece of a file's text that names a file or directory of the repository, and what
// becomes of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster::reorg {

enum class Confidence {
  kCertain,  ///< its base is defined: a link, an own URL, a symlink
  kLikely,   ///< the text resolves under a base that its surroundings give
  kUnsure,   ///< proposed, never written
};
const char* to_string(Confidence confidence);

enum class Standing {
  kAlive,    ///< leads somewhere before the move
  kDead,     ///< of a kind that must lead somewhere, and does not
  kHealed,   ///< dead before, alive after, with its text as it is
  kPinned,   ///< names another ref than the one that moves: never edited
  kUnclear,  ///< can't be read, e.g. a URL without a ref
};
const char* to_string(Standing standing);

struct Reference {
  std::size_t offset = 0;  ///< into the file's bytes
  std::string text;        ///< what stands there
  const char* kind = "";   ///< "link", "image", "url", "shell", …: a literal
  Standing standing = Standing::kAlive;
  Confidence confidence = Confidence::kCertain;
  std::size_t side = 0;                    ///< whose tree the target lies in
  std::string target;                      ///< the path before the move; "" is the root
  std::optional<std::string> replacement;  ///< when it differs from the text
  std::string reason;
  std::string fragment;             ///< of a link: what follows '#'
  std::size_t fragment_offset = 0;  ///< where that stands
};

/// By where they start; no two overlap.
using References = std::vector<Reference>;

}  // namespace muster::reorg
