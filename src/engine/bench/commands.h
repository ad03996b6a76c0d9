// The subcommands of muster-bench.
#pragma once

#include "engine/bench/settings.h"

namespace muster::measure {

/// Each adds its subcommands; one of them, when parsed, sets the exit code.
void add_collectives(CLI::App& app, int& exit_code);
void add_one_sided(CLI::App& app, int& exit_code);
void add_experts(CLI::App& app, int& exit_code);
void add_pairs(CLI::App& app, int& exit_code);

/// alltoall by puts; the exit code.
int run_one_sided_all_to_all(const Settings& settings);

}  // namespace muster::measure
