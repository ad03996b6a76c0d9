// muster-bench put, get, atomic, pingpong, and alltoall --one-sided.
#include <cstdio>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/verdict.h"
#include "engine/bench/command_support.h"
#include "engine/bench/commands.h"
#include "engine/bench/job.h"
#include "engine/bench/one_sided.h"

namespace muster::measure {
namespace {

struct OneSidedSettings {
  Settings common;
  OneSidedOptions options;
  std::string atomic = "fetch_add";
  bool one_sided = true;
};

int run_one_sided(OneSided operation, OneSidedSettings settings) {
  const auto chosen = atomic(settings.atomic);
  if (!chosen)
    return refuse(
        {error_at({}, "bench-option", "--atomic: no such atomic operation: " + settings.atomic,
                  "inc, fetch_add, swap or compare_swap")});
  settings.options.atomic = *chosen;
  if (settings.options.window < 1)
    return refuse({error_at({}, "bench-option", "--window: below 1", "1 or more")});
  Result<Sweep> sweep = make_sweep(Operation::kSendRecv, settings.common, 1);
  if (!sweep) return refuse(sweep.findings());
  prefer_shared_memory();
  Job job(sweep->time_limit);
  Fabric& fabric = job.fabric();
  // The window and what is sent; of all-to-all a part for each rank.
  const int buffers = operation == OneSided::kAllToAll ? 2 * fabric.size() + 1 : 3;
  if (!fit_to_memory(*sweep, fabric, buffers)) return kExitUnverified;
  if (job.first())
    std::cout << one_sided_header(operation, *sweep, settings.options, fabric) << std::flush;
  std::size_t wrong = 0;
  bool checked = false;
  in_cycles(*sweep, fabric, [&] {
    measure_one_sided(operation, *sweep, settings.options, fabric, job.monitor(),
                      [&](const OneSidedRow& row) {
                        if (job.first()) std::cout << line(row) << std::flush;
                        checked = checked || row.wrong.has_value();
                        wrong += row.wrong.value_or(0);
                      });
  });
  if (job.first())
    fmt::print("# Wrong bytes or words : {} {}\n", wrong,
               !checked     ? "unchecked"
               : wrong == 0 ? "OK"
                            : "FAILED");
  std::fflush(stdout);
  job.finish();
  return conclude(*sweep, checked, wrong, job.first());
}

}  // namespace

int run_one_sided_all_to_all(const Settings& settings) {
  OneSidedSettings all;
  all.common = settings;
  return run_one_sided(OneSided::kAllToAll, all);
}

void add_one_sided(CLI::App& app, int& exit_code) {
  const auto settings = std::make_shared<OneSidedSettings>();
  for (const OneSided operation :
       {OneSided::kPut, OneSided::kGet, OneSided::kAtomic, OneSided::kPingPong}) {
    CLI::App* sub = app.add_subcommand(
        to_string(operation),
        fmt::format("Measure one-sided {} between pairs of ranks", to_string(operation)));
    add_options(*sub, settings->common);
    sub->add_option("--window", settings->options.window,
                    "Operations under way at a time, of bandwidths")
        ->capture_default_str();
    sub->add_flag("--bidir", settings->options.both_ways, "Both ranks of a pair begin operations");
    sub->add_flag("--one-sided", settings->one_sided, "As these operations are; accepted");
    if (operation == OneSided::kAtomic)
      sub->add_option("--atomic", settings->atomic, "inc, fetch_add, swap or compare_swap")
          ->capture_default_str();
    sub->callback([=, &exit_code] { exit_code = run_one_sided(operation, *settings); });
  }
}

}  // namespace muster::measure
