// launch_ranks N PROGRAM ARGS…: starts N processes that find each other by RANK, WORLD_SIZE,
// MASTER_ADDR and MASTER_PORT (a free port), as torchrun does. Ends with the first exit code that
// is not 0, after which the other processes are killed.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::cerr << "launch_ranks: no free port\n";
    std::exit(1);
  }
  close(fd);
  return ntohs(address.sin_port);
}

int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: launch_ranks N PROGRAM ARGS...\n";
    return 1;
  }
  const int size = std::atoi(argv[1]);
  setenv("WORLD_SIZE", argv[1], 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", std::to_string(free_port()).c_str(), 1);
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setenv("RANK", std::to_string(rank).c_str(), 1);
      setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
      execv(argv[2], argv + 2);
      std::cerr << "launch_ranks: can't start " << argv[2] << '\n';
      _exit(127);
    }
    children.push_back(pid);
  }
  int worst = 0;
  for (int left = size; left > 0; --left) {
    int status = 0;
    waitpid(-1, &status, 0);
    if (code_of(status) != 0 && worst == 0) {
      worst = code_of(status);
      for (const pid_t pid : children) kill(pid, SIGKILL);
    }
  }
  return worst;
}
