// The man page and the reference, as functions from the command line's description to text.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace muster::cli {

/// muster(1) in roff.
std::string man_page(const CommandInfo& root, const std::string& version);

/// docs/reference.md.
std::string reference(const CommandInfo& root);

}  // namespace muster::cli
