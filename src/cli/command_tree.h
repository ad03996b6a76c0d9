// The command line as plain data, read from the parser's own tables: what completions, the man page
// and the reference are made of.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace muster::cli {

/// OptionInfo::listed of a name that follows its kind on the command line.
inline constexpr const char* kOfKindBefore = "*";

struct OptionInfo {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional its one name
  bool positional = false;
  bool takes_value = false;
  bool required = false;
  bool repeated = false;             ///< may be given more than once
  std::string value_name;            ///< "DIR"
  std::vector<std::string> choices;  ///< the values it may have; empty when they are open
  std::string listed;  ///< values are what `muster list KIND` gives: the kind, or kOfKindBefore
  std::string description;
};

struct CommandInfo {
  std::string path;  ///< "muster", "muster list"
  std::string name;
  std::string group;
  std::string description;
  std::string footer;
  std::vector<OptionInfo> options;  ///< in the order they were declared
  std::vector<CommandInfo> commands;
};

/// Hidden commands and options are left out.
CommandInfo describe(const CLI::App& root);

/// The command itself and all below it, depth first.
std::vector<const CommandInfo*> flatten(const CommandInfo& root);

/// "muster list [OPTIONS] KIND [NAME…]".
std::string synopsis(const CommandInfo& command);

}  // namespace muster::cli
