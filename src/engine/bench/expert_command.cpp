// muster-bench ep: dispatch and combine of expert parallelism.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/file_system.h"
#include "base/verdict.h"
#include "engine/bench/command_support.h"
#include "engine/bench/commands.h"
#include "engine/bench/expert_runner.h"
#include "engine/bench/job.h"
#include "engine/bench/runner.h"

namespace muster::measure {
namespace {

bool fits(const ExpertPlan& plan, const Placement& placement, Fabric& fabric) {
  std::vector<double> room = {static_cast<double>(memory_for_buffers(fabric))};
  fabric.min(room);
  const double needed = expert_memory(plan, static_cast<int>(placement.ranks_at.size()));
  if (needed <= room[0]) return true;
  if (fabric.rank() == 0)
    fmt::print(stderr,
               "error: {:.0f} bytes a rank do not fit into memory, of which each has {:.0f}; fewer "
               "--num-tokens do\n",
               needed, room[0]);
  return false;
}

int conclude(const ExpertPlan& plan, const std::vector<ExpertRow>& rows, bool say) {
  bool checked = false;
  for (const ExpertRow& row : rows) {
    if (row.wrong.value_or(0) > 0) return kExitFailed;
    // Void selections can leave nothing to move, so nothing to be looked at.
    checked = checked || (row.wrong && row.rows > 0);
  }
  if (plan.checks == 0 || checked) return kExitOk;
  if (say) fmt::print(stderr, "error: no token went anywhere: nothing was there to be checked\n");
  return kExitUnverified;
}

int run_experts(const ExpertSettings& settings) {
  // Checked before anything waits for others.
  Result<ExpertPlan> plan = make_plan(settings, 0, 0);
  if (!plan) return refuse(plan.findings());
  prefer_shared_memory();
  Job job(plan->time_limit);
  Fabric& fabric = job.fabric();
  const bool first = job.first();
  const Placement placement = place(fabric.seats(), settings.ranks_per_node);
  plan = make_plan(settings, fabric.size(), static_cast<int>(placement.ranks_at.size()));
  if (!plan) return first ? refuse(plan.findings()) : kExitBadInput;
  if (!fits(*plan, placement, fabric)) return kExitUnverified;
  if (first)
    std::cout << expert_header(*plan, fabric.seats(), fabric.name(), processor_name())
              << std::flush;
  const std::vector<ExpertRow> rows = measure_experts(*plan, placement, fabric, job.monitor());
  if (first) {
    for (const ExpertRow& row : rows) std::cout << line(row);
    std::cout << expert_footer(rows) << std::flush;
  }
  job.finish();
  if (first && !plan->json.empty()) {
    const auto written =
        real_file_system().write(plan->json, expert_json(*plan, fabric.seats(), rows));
    if (!written) return refuse(written.findings());
  }
  return conclude(*plan, rows, first);
}

}  // namespace

void add_experts(CLI::App& app, int& exit_code) {
  const auto settings = std::make_shared<ExpertSettings>();
  CLI::App* sub = app.add_subcommand(
      "ep", "Measure dispatch and combine of expert parallelism, as DeepEP does");
  add_options(*sub, *settings);
  sub->callback([=, &exit_code] { exit_code = run_experts(*settings); });
}

}  // namespace muster::measure
