// Commands that tests run beside the program: mostly git, which judges what libgit2 made.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <vector>

namespace muster::reorg::testing {

/// Both outputs of a command of the shell, and "exit N" when it failed.
inline std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no shell");
  char buffer[4096];
  while (std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
  const int status = ::pclose(pipe);
  if (status != 0) text += "exit " + std::to_string(WEXITSTATUS(status)) + "\n";
  return text;
}

/// A program with its output thrown away; the caller waits for it.
inline pid_t start(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  return child;
}

struct Ended {
  int code = -1;
  long peak_kib = 0;  ///< of memory
};

/// Runs a program to its end.
inline Ended run(const std::vector<std::string>& command) {
  int status = 0;
  struct rusage used {};
  ::wait4(start(command), &status, 0, &used);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, used.ru_maxrss};
}

}  // namespace muster::reorg::testing
