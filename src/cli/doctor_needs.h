// What each capability needs on a machine, as data.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

/// One thing that must be there: a program, or a file below an include or library directory.
struct Need {
  std::string name;                   ///< for people, e.g. "CMake"
  std::vector<std::string> programs;  ///< any one of them will do
  std::vector<std::string>
      version_arguments;           ///< makes the program print its version; empty: it has none
  std::string minimum;             ///< "3.25"; empty: any version
  std::vector<std::string> files;  ///< of a library: any one of them, below a prefix such as /usr
  std::vector<std::string> packages;  ///< Debian packages that bring it
};

struct Capability {
  std::string name;
  std::string purpose;
  std::vector<Need> needs;
  bool engine = false;  ///< needs muster-train as well
};

const std::vector<Capability>& capabilities();

}  // namespace muster::cli
