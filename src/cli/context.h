// What every verb of the command line works with: the seams, the settings and the two output streams.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/finding.h"
#include "base/process.h"
#include "base/verdict.h"

namespace CLI {
class App;
}

namespace muster::cli {

struct Context {
  FileSystem& files;
  ProcessRunner& processes;
  Clock& clock;
  std::ostream& out;  ///< data
  std::ostream& err;  ///< talk, progress, findings that stop the command
  int exit_code = kExitOk;

  /// Prints the findings to `err`, one a line, and sets the exit code.
  void fail(const Findings& findings, ExitCode code);
};

// One function per verb, each in a file of its own: adds the subcommand, its options and its action.
// The option tables made here are the only source: completions, the man page and the reference come from them.
using AddVerb = void (*)(CLI::App& root, Context& context);

void add_list(CLI::App& root, Context& context);
void add_show(CLI::App& root, Context& context);
void add_validate(CLI::App& root, Context& context);
void add_render(CLI::App& root, Context& context);
void add_run(CLI::App& root, Context& context);
void add_status(CLI::App& root, Context& context);
void add_logs(CLI::App& root, Context& context);
void add_cancel(CLI::App& root, Context& context);
void add_report(CLI::App& root, Context& context);
void add_doctor(CLI::App& root, Context& context);
void add_config(CLI::App& root, Context& context);
void add_completion(CLI::App& root, Context& context);
void add_engine(CLI::App& root, Context& context);  ///< train, score, tokenize: hand over to muster-train

/// Builds the whole command line; used by main, the completions, the man page and the tests.
void build(CLI::App& root, Context& context);

/// Parses and runs; returns the exit code. Usage errors are printed to `context.err` and give 1.
int run(int argc, const char* const* argv, Context& context);

}  // namespace muster::cli
