#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

#include "cli/context.h"

extern char** environ;

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  muster::catch_interrupts();
  muster::cli::Context context{muster::real_file_system(), muster::real_process_runner(),
                               muster::real_clock(), std::cout, std::cerr};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos)
      context.environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  std::error_code error;
  context.directory = std::filesystem::current_path(error);
  context.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  context.err_is_terminal = isatty(STDERR_FILENO) == 1;
  return muster::cli::run(argc, argv, context);
}
