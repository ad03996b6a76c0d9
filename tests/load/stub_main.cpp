// Runs a command beside the stub: $STUB is its address. Exits as the command does.
//
//   load_stub COMMAND [ARGUMENT…]
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "load/stub_server.h"

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
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
