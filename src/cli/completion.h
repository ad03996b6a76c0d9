// Completion scripts, as functions from the command line's description to text.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace muster::cli {

std::string bash_completion(const CommandInfo& root);
std::string zsh_completion(const CommandInfo& root);
std::string fish_completion(const CommandInfo& root);

}  // namespace muster::cli
