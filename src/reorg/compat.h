// What keeps old paths going after a move, each form with the accesses that it serves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reorg/move_map.h"
#include "reorg/tree.h"

namespace muster::reorg {

enum class CompatForm {
  kSymlinks,  ///< for clones that `cd`; a raw URL serves the link's text
  kStubs,     ///< for pages: a README.md that says where it went
  kCopies,    ///< for raw URLs and the contents API: real files, which grow old
};

std::optional<CompatForm> parse_compat(std::string_view name);
/// "serves …; does not serve …": the label of the form.
const char* serves(CompatForm form);

struct CompatFile {
  std::string path;  ///< the old one
  bool symlink = false;
  std::string content;  ///< of a stub; of a symlink, its text
  std::string copy_of;  ///< of a copy: the new path
};

/// For the lines of this repository; `tree` is the new one. Old paths that are taken again are left
/// out.
std::vector<CompatFile> compat_files(const std::vector<MapLine>& lines, const Tree& tree,
                                     CompatForm form);

}  // namespace muster::reorg
