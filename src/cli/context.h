// What every verb of the command line works with: the seams, the settings and the two output
// streams.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/finding.h"
#include "base/process.h"
#include "base/verdict.h"
#include "cli/settings.h"

namespace CLI {
class App;
}

namespace muster {
struct Output;
enum class Format;
}  // namespace muster

namespace muster::cli {

struct Context {
  FileSystem& files;
  ProcessRunner& processes;
  Clock& clock;
  std::ostream& out;  ///< data
  std::ostream& err;  ///< talk, progress, findings that stop the command
  int exit_code = kExitOk;

  std::vector<std::string> command_line{};  ///< muster's own argv
  std::map<std::string, std::string> environment{};
  std::filesystem::path directory{};  ///< the working directory, absolute
  bool out_is_terminal = false;
  bool err_is_terminal = false;

  // Filled in when the command line has been parsed, before a verb's action runs.
  Settings settings{};
  bool quiet = false;  ///< -q: no talk and no progress, only data and errors

  std::filesystem::path project() const { return settings.path("project"); }
  std::filesystem::path runs_dir() const { return settings.path("runs_dir"); }
  Format format() const;   ///< -o
  bool color_out() const;  ///< whether data may be colored
  bool color_err() const;  ///< whether talk may be colored
  bool show_progress() const { return err_is_terminal && !quiet; }

  /// Prints the findings to `err`, one a line, and sets the exit code.
  void fail(const Findings& findings, ExitCode code);

  /// Writes to `out` in the format in force; a format that has no form for it fails with exit
  /// code 1.
  void print(const Output& output);
};

// One function per verb, each in a file of its own: adds the subcommand, its options and its action
// (a CLI11 callback; the settings are resolved when it runs). The option tables made here are the
// only source: completions, the man page and the reference come from them. A new verb is one line
// here, one in app.cpp's table and one in CMakeLists.txt.
using AddVerb = void (*)(CLI::App& root, Context& context);

void add_list(CLI::App& root, Context& context);
void add_show(CLI::App& root, Context& context);
void add_validate(CLI::App& root, Context& context);
void add_render(CLI::App& root, Context& context);
void add_plan(CLI::App& root, Context& context);
void add_deploy(CLI::App& root, Context& context);
void add_diff(CLI::App& root, Context& context);
void add_destroy(CLI::App& root, Context& context);
void add_run(CLI::App& root, Context& context);
void add_status(CLI::App& root, Context& context);
void add_logs(CLI::App& root, Context& context);
void add_cancel(CLI::App& root, Context& context);
void add_report(CLI::App& root, Context& context);
void add_profile(CLI::App& root, Context& context);
void add_lock(CLI::App& root, Context& context);
void add_bench(CLI::App& root, Context& context);
void add_check(CLI::App& root, Context& context);
void add_exporter(CLI::App& root, Context& context);
void add_reorg(CLI::App& root, Context& context);
void add_dashboards(CLI::App& root, Context& context);
void add_doctor(CLI::App& root, Context& context);
void add_top(CLI::App& root, Context& context);
void add_config(CLI::App& root, Context& context);
void add_completion(CLI::App& root, Context& context);
void add_load(CLI::App& root, Context& context);
void add_manual(CLI::App& root, Context& context);  ///< hidden: the man page and the reference
void add_engine(CLI::App& root,
                Context& context);  ///< train, score, tokenize: hand over to muster-train

/// Builds the whole command line; used by main, the completions, the man page and the tests.
void build(CLI::App& root, Context& context);

/// Parses and runs; returns the exit code. Usage errors are printed to `context.err` and give 1, a
/// value that can't be read 2.
int run(int argc, const char* const* argv, Context& context);

}  // namespace muster::cli
