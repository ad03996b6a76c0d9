#include "cli/profile_options.h"

#include <cmath>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/schema.h"

namespace muster::cli {

void add_profile_options(CLI::App& command, ProfileOptions& options) {
  const std::string group = "Profile";
  const auto add = [&](const char* name, std::string& value, const char* doc, const char* type) {
    command.add_option(name, value, doc)->type_name(type)->group(group);
  };
  add("--profile-with", options.with,
      "Profile the run: nsys (Nsight Systems), or native (muster-train's own traces)", "TOOL");
  add("--profile-ranks", options.ranks,
      "Ranks under nsys: first-per-node (the default), all, or a list such as 0,8 or 0-3", "RANKS");
  command.add_option("--profile-delay", options.delay, "Seconds after a rank's start; default: 30")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS")
      ->group(group);
  command.add_option("--profile-duration", options.duration, "Seconds at most; default: 90")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS")
      ->group(group);
  add("--profile-steps", options.steps,
      "Only these steps; under nsys the program has to call cudaProfilerStart and Stop there",
      "FIRST:LAST");
  add("--profile-trace", options.trace, "What nsys traces; default: cuda,nvtx", "APIS");
  add("--profile-nsys", options.nsys,
      "nsys on the nodes; an absolute path's installation is mounted into containers", "PATH");
  add("--profile-efa", options.efa,
      "Sample EFA's counters on the first rank of a node: auto (where the case has EFA), on, off",
      "WHEN");
  add("--profile-free", options.least_free,
      "Profile a rank only where so much room is left for its report; default: 2GiB", "SIZE");
  command
      .add_option("--profile-option", options.options,
                  "A further option of nsys profile, as --NAME=VALUE; repeatable")
      ->type_name("OPTION")
      ->allow_extra_args(false)
      ->group(group);
}

Result<launch::Profiling> profiling_of(const ProfileOptions& options) {
  launch::Profiling asked;
  const auto tool = launch::parse_profiling_tool(options.with);
  if (!tool) return tool.error();
  asked.tool = *tool;
  const bool more = !options.ranks.empty() || !options.trace.empty() || !options.nsys.empty() ||
                    !options.efa.empty() || !options.least_free.empty() || options.delay >= 0 ||
                    options.duration > 0 || !options.options.empty();
  const bool nsys = asked.tool == launch::Profiling::Tool::kNsys;
  if ((more && !nsys) || (!options.steps.empty() && asked.tool == launch::Profiling::Tool::kNone)) {
    return failure("profile-with", "an option of a profile without its profiler",
                   more ? "--profile-with nsys" : "--profile-with native, or nsys");
  }
  asked.steps = options.steps;
  asked.trace = options.trace;
  asked.options = options.options;
  if (!options.ranks.empty()) asked.ranks = options.ranks;
  if (!options.nsys.empty()) asked.nsys = options.nsys;
  if (!options.efa.empty()) asked.efa = options.efa;
  if (options.delay >= 0) asked.delay = options.delay;
  if (options.duration > 0) asked.duration = options.duration;
  if (!options.least_free.empty()) {
    const auto bytes = parse_size(options.least_free);
    if (!bytes || *bytes < 0)
      return failure("profile-free", fmt::format("\"{}\" is no size", options.least_free),
                     "e.g. 2GiB");
    asked.least_free = std::llround(*bytes);
  }
  return asked;
}

}  // namespace muster::cli
