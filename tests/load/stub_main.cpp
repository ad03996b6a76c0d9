// Runs a command beside the stub: $STUB is its address. Exits as the command does. Into the file
// that $STUB_REPORT names it writes how late it sent itself.
//
//   load_stub COMMAND [ARGUMENT…]
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "load/stub_server.h"

namespace {

void report(const muster::testing::StubServer& server, const char* path) {
  auto late = server.lateness();
  std::sort(late.begin(), late.end());
  const auto at = [&late](double share) {
    if (late.empty()) return 0.0;
    const auto index = static_cast<std::size_t>(share * static_cast<double>(late.size() - 1));
    return static_cast<double>(late[index]) / 1e6;
  };
  std::ofstream(path) << "{\"pieces\": " << late.size() << ", \"late_p50_ms\": " << at(0.5)
                      << ", \"late_p99_ms\": " << at(0.99) << ", \"late_max_ms\": " << at(1)
                      << "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: load_stub COMMAND [ARGUMENT...]\n");
    return 1;
  }
  const muster::testing::StubServer server;
  setenv("STUB", server.address().c_str(), 1);
  pid_t child = 0;
  if (posix_spawnp(&child, argv[1], nullptr, nullptr, argv + 1, environ) != 0) {
    std::perror(argv[1]);
    return 1;
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 1;
  if (const char* const path = std::getenv("STUB_REPORT")) report(server, path);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
