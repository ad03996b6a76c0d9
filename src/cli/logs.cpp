// logs: what a run's launcher and ranks printed.
#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/display.h"
#include "cli/context.h"
#include "launch/tail.h"
#include "runs/evidence.h"
#include "runs/run_store.h"

namespace muster::cli {
namespace {

struct LogsOptions {
  std::string run = "last";
  int rank = -1;
  bool follow = false;
};

/// One log file and how far it was printed.
struct Log {
  std::string name;
  launch::Tail tail;
};

/// Prints lines of several logs with the log's name before each; a single one as it is.
class Printer {
 public:
  Printer(const LogsOptions& options, const std::filesystem::path& directory, Context& context)
      : options_(options),
        directory_(directory),
        context_(context),
        redactor_(runs::environment_redactor()) {}

  /// What was written since the last call; at the end also a last line without a line break. True
  /// when there was something.
  bool print(bool at_end) {
    find_logs();
    bool any = false;
    for (Log& log : logs_) {
      std::vector<std::string> lines = log.tail.lines();
      std::string rest = at_end ? log.tail.take_rest() : std::string();
      if (!rest.empty()) lines.push_back(std::move(rest));
      for (const std::string& line : lines) print(log.name, line);
      any = any || !lines.empty();
    }
    if (any) context_.out << std::flush;
    return any;
  }

  bool found() const { return !logs_.empty(); }

 private:
  void print(const std::string& log, const std::string& line) {
    // A log that is still written may hold what will be redacted at the end of the run.
    std::string text = redactor_.redact(std::string_view(line));
    if (context_.out_is_terminal) text = terminal_safe(text);
    if (options_.rank < 0) context_.out << fmt::format("{:<12} | ", log);
    context_.out << text << '\n';
  }

  /// A rank's log appears when the rank starts.
  void find_logs() {
    const auto names = context_.files.list(directory_);
    if (!names) return;
    for (const std::string& name : *names) {
      const bool log = name.ends_with(".log") || name.ends_with(".out") || name.ends_with(".err");
      const bool wanted =
          options_.rank < 0 ? log : name == fmt::format("rank-{}.log", options_.rank);
      const bool known =
          std::any_of(logs_.begin(), logs_.end(), [&](const Log& one) { return one.name == name; });
      if (wanted && !known) logs_.push_back({name, launch::Tail(directory_ / name)});
    }
  }

  const LogsOptions& options_;
  std::filesystem::path directory_;
  Context& context_;
  Redactor redactor_;
  std::vector<Log> logs_;
};

void logs(const LogsOptions& options, Context& context) {
  auto store = runs::RunStore::open(context.runs_dir(), context.clock);
  if (!store) return context.fail(store.findings(), kExitInternal);
  const auto record = store->find(options.run);
  if (!record) return context.fail(record.findings(), kExitBadInput);
  Printer printer(options, record->directory / "logs", context);
  // To the end of the run: whoever follows it holds its directory.
  bool going_on = options.follow;
  while (going_on && !interrupted()) {
    going_on = runs::DirectoryLock::holder(record->directory).has_value();
    printer.print(false);
    if (going_on) context.clock.sleep_for(std::chrono::milliseconds(200));
  }
  printer.print(true);
  if (interrupted()) {
    context.exit_code = kExitInterrupted;
  } else if (!printer.found()) {
    context.fail({error_at({(record->directory / "logs").string(), 0, 0}, "logs-missing",
                           options.rank < 0 ? "the run has no logs"
                                            : fmt::format("rank {} has no log", options.rank),
                           fmt::format("the run has {} ranks", record->world))},
                 kExitUnverified);
  }
}

}  // namespace

void add_logs(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("logs", "What a run's launcher and ranks printed");
  sub->group("Runs");
  auto options = std::make_shared<LogsOptions>();
  sub->add_option("run", options->run, "Id of the run, the start of one, its directory, or 'last'")
      ->type_name("RUN")
      ->capture_default_str();
  sub->add_option("--rank", options->rank, "Only this rank's log")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  sub->add_flag("-f,--follow", options->follow, "Go on until the run ends");
  sub->callback([options, &context] { logs(*options, context); });
}

}  // namespace muster::cli
