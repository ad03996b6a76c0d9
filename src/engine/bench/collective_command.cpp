// muster-bench all_reduce, …: the collectives of nccl-tests.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/file_system.h"
#include "base/verdict.h"
#include "engine/bench/command_support.h"
#include "engine/bench/commands.h"
#include "engine/bench/job.h"
#include "engine/bench/runner.h"

namespace muster::measure {
namespace {

std::string now_text() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

/// The arguments of this process, as the JSON names them.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

int run_collective(Operation operation, const Settings& settings) {
  // Checked before anything waits for others.
  Result<Sweep> sweep = make_sweep(operation, settings, std::nullopt);
  if (!sweep) return refuse(sweep.findings());
  Job job(sweep->time_limit, sweep->fabric);
  Fabric& fabric = job.fabric();
  const bool first = job.first();
  sweep = make_sweep(operation, settings, fabric.size());
  if (!sweep) return first ? refuse(sweep.findings()) : kExitBadInput;
  // Send, receive, and what MPI keeps.
  if (!fit_to_memory(*sweep, fabric, 3)) return kExitUnverified;
  const std::string processor = processor_name(), start = now_text();
  if (first) std::cout << header(*sweep, fabric.seats(), fabric.name(), processor) << std::flush;
  std::vector<Row> rows;
  try {
    in_cycles(*sweep, fabric, [&] {
      measure(*sweep, fabric, job.monitor(), [&](const Row& row) {
        if (first) std::cout << line(row) << std::flush;
        rows.push_back(row);
      });
    });
  } catch (const PeerLost& lost) {
    job.end_for(lost);
  }
  const Summary summary = summarise(rows);
  if (first) std::cout << footer(*sweep, summary) << std::flush;
  job.finish();
  if (first && !sweep->json.empty()) {
    const auto written = real_file_system().write(
        sweep->json, to_json(*sweep, command_line(), fabric.seats(), fabric.name(), processor, rows,
                             start, now_text()));
    if (!written) return refuse(written.findings());
  }
  return conclude(*sweep, summary.checked, summary.out_of_bounds, first);
}

}  // namespace

void add_collectives(CLI::App& app, int& exit_code) {
  const auto settings = std::make_shared<Settings>();
  for (const Operation operation : all_operations()) {
    CLI::App* sub =
        app.add_subcommand(to_string(operation), fmt::format("Measure {}", to_string(operation)));
    add_options(*sub, *settings);
    sub->add_option(
           "--fabric", settings->fabric,
           "mpi, gloo (TCP), nccl (GPUs, when built with it), or auto: nccl where there is a "
           "GPU, gloo where no launcher of MPI started the ranks")
        ->capture_default_str();
    const auto one_sided = std::make_shared<bool>(false);
    if (operation == Operation::kAllToAll)
      sub->add_flag("--one-sided", *one_sided, "By puts into the others' memory");
    sub->callback([=, &exit_code] {
      exit_code =
          *one_sided ? run_one_sided_all_to_all(*settings) : run_collective(operation, *settings);
    });
  }
}

}  // namespace muster::measure
