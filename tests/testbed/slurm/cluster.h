// The cluster of cluster.sh as the tests of a program use it: one of its own, by the process's
// number.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/process.h"

namespace muster::testbed {

/// cluster.sh itself, for commands that go on.
inline const std::string kClusterScript = MUSTER_SOURCE_DIR "/tests/testbed/slurm/cluster.sh";

/// The folder that all its hosts see.
const std::filesystem::path& state();

/// cluster.sh WORDS…
ProcessResult cluster(std::vector<std::string> words,
                      std::chrono::seconds limit = std::chrono::seconds(60));

/// Standard output of a command on the controller, bounded to 20 s.
std::string on_controller(std::vector<std::string> words);

/// Removes the cluster and what the calls above have written.
void remove_cluster();

/// A main for googletest: exit code 77 where this machine can't run the cluster.
int run_tests(int argc, char** argv);

}  // namespace muster::testbed
