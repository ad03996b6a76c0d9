// Names of hosts as Slurm writes many of them: "n[1-3,07],gpu-1".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The names of an expression, in its order, up to a million; what is no expression is one name.
std::vector<std::string> expand_hosts(std::string_view expression);

}  // namespace muster
