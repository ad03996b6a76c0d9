// muster lock: what the catalog's pins stand for, written down or compared.
#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/http.h"
#include "base/output.h"
#include "base/progress.h"
#include "cli/context.h"
#include "lock/lock.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

struct LockRequest {
  std::vector<std::string> paths;
  bool check = false;
  double timeout = 10;
};

// The folder that has the cases, and with it the lock file.
fs::path home_of(const Context& context) {
  return context.project() / "test_cases";
}

// The folders that were asked for; none: those of the whole catalog.
Result<std::vector<fs::path>> asked_folders(const LockRequest& request, const Context& context) {
  std::vector<fs::path> folders;
  if (request.paths.empty()) {
    folders.push_back(home_of(context));
    const fs::path benchmarks = context.project() / "micro-benchmarks";
    if (context.files.exists(benchmarks)) folders.push_back(benchmarks);
    return folders;
  }
  for (const std::string& path : request.paths) {
    const fs::path folder = (context.directory / path).lexically_normal();
    const auto info = context.files.info(folder);
    if (!info || info->kind != FileInfo::Kind::kDirectory)
      return Failure(error_at({folder.string(), 0, 0}, "lock-path", "is no folder of the catalog",
                              "a folder below test_cases or micro-benchmarks"));
    folders.push_back(folder);
  }
  return folders;
}

Result<std::vector<lock::Pin>> asked_pins(const LockRequest& request, const Context& context) {
  const auto folders = asked_folders(request, context);
  if (!folders) return folders.error();
  std::vector<lock::Pin> pins;
  for (const fs::path& folder : *folders) {
    auto some = lock::collect_pins(context.files, folder);
    if (!some) return some;
    for (lock::Pin& pin : *some) {
      const bool known = std::any_of(pins.begin(), pins.end(), [&](const lock::Pin& one) {
        return one.kind == pin.kind && one.key() == pin.key();
      });
      if (!known) pins.push_back(std::move(pin));
    }
  }
  return pins;
}

Result<lock::LockFile> written_lock(const fs::path& file, const Context& context) {
  if (!context.files.exists(file)) return lock::LockFile();
  const auto text = context.files.read(file);
  if (!text) return text.error();
  return lock::parse_lock_file(*text, file.string());
}

// As pip takes it: PIP_INDEX_URL and PIP_EXTRA_INDEX_URL.
std::vector<std::string> package_indexes(const Context& context) {
  std::vector<std::string> indexes;
  const auto add = [&](const char* name) {
    const auto found = context.environment.find(name);
    if (found == context.environment.end()) return;
    std::string word;
    for (const char c : found->second + " ") {
      if (c != ' ') {
        word += c;
      } else if (!word.empty()) {
        indexes.push_back(std::exchange(word, {}));
      }
    }
  };
  add("PIP_INDEX_URL");
  if (indexes.empty()) indexes = lock::LockOptions{}.indexes;
  add("PIP_EXTRA_INDEX_URL");
  return indexes;
}

struct Counts {
  int same = 0, differing = 0, absent = 0, unreached = 0;
};

Counts count(const std::vector<lock::Entry>& entries) {
  Counts counts;
  for (const lock::Entry& entry : entries) {
    switch (entry.state) {
      case lock::State::kSame:
        ++counts.same;
        break;
      case lock::State::kAbsent:
        ++counts.absent;
        break;
      case lock::State::kUnreached:
        ++counts.unreached;
        break;
      default:
        ++counts.differing;
    }
  }
  return counts;
}

// A pin that is nowhere fails; else a difference counts where it is looked for; else what nobody
// could say is not verified.
ExitCode code_of(const Counts& counts, bool check) {
  if (counts.absent > 0) return kExitFailed;
  if (check && counts.differing > 0) return kExitDiffers;
  if (counts.unreached > 0 || counts.same + counts.differing == 0) return kExitUnverified;
  return kExitOk;
}

Output output_of(const lock::Outcome& outcome, const Counts& counts) {
  Output output;
  output.name = "lock";
  output.rows = "pins";
  output.columns = {{"STATE", "state"},
                    {"KIND", "kind"},
                    {"PIN", "pin"},
                    {"FOUND", "evidence"},
                    {"WHERE", "where", true}};
  output.empty = "no pins";
  auto& rows = output.data["pins"] = nlohmann::ordered_json::array();
  for (const lock::Entry& entry : outcome.entries) {
    rows.push_back({{"pin", entry.key},
                    {"kind", lock::to_string(entry.kind)},
                    {"state", lock::to_string(entry.state)},
                    {"evidence", entry.evidence},
                    {"where", to_string(entry.where)}});
  }
  output.data["counts"] = {{"same", counts.same},
                           {"differing", counts.differing},
                           {"absent", counts.absent},
                           {"unreached", counts.unreached}};
  return output;
}

void run_lock(const LockRequest& request, Context& context) {
  const fs::path file = home_of(context) / "lock.yaml";
  const auto pins = asked_pins(request, context);
  if (!pins) return context.fail(pins.findings(), kExitBadInput);
  const auto known = written_lock(file, context);
  if (!known) return context.fail(known.findings(), kExitBadInput);
  lock::LockOptions options;
  options.indexes = package_indexes(context);
  options.drop_stale = request.paths.empty();
  lock::Fetcher fetcher(real_http_client(), context.clock,
                        std::chrono::milliseconds(static_cast<long>(request.timeout * 1000)));
  const lock::Outcome outcome = lock::look_up(*pins, *known, options, fetcher);
  if (interrupted()) {
    context.exit_code = kExitInterrupted;
    return;
  }
  const Counts counts = count(outcome.entries);
  context.print(output_of(outcome, counts));
  if (context.exit_code != kExitOk) return;
  if (!request.check && outcome.lock != *known) {
    const auto written = context.files.write(file, lock::to_text(outcome.lock));
    if (!written) return context.fail(written.findings(), kExitInternal);
  }
  if (!context.quiet) {
    context.err << fmt::format(
        "{} as written down, {} {}, {} not there, {} could not be looked up\n", counts.same,
        counts.differing, request.check ? "differ" : "written anew", counts.absent,
        counts.unreached);
  }
  context.exit_code = code_of(counts, request.check);
}

}  // namespace

void add_lock(CLI::App& root, Context& context) {
  CLI::App* sub =
      root.add_subcommand("lock", "Look up the digests that the catalog's pins stand for");
  sub->group("Look");
  auto request = std::make_shared<LockRequest>();
  sub->add_option("path", request->paths,
                  "Folders of the catalog whose pins are looked up; none: all of test_cases and "
                  "micro-benchmarks")
      ->type_name("PATH");
  sub->add_flag(
      "--check", request->check,
      "Compare with test_cases/lock.yaml instead of writing it; exit code 5 when they differ");
  sub->add_option("--timeout", request->timeout, "Wait this many seconds for one answer")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS")
      ->capture_default_str();
  sub->footer(
      "Images are asked for at their registries, tags at their git servers, Python packages at the "
      "index that pip uses (PIP_INDEX_URL).\n"
      "Exit code 3 when a pin is nowhere to be found, 4 when any could not be looked up.\n"
      "Example:\n  muster lock --check");
  sub->callback([request, &context] { run_lock(*request, context); });
}

}  // namespace muster::cli
