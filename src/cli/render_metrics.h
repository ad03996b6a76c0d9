// muster render metrics: the configuration that scrapes a cluster.
#pragma once

#include "cli/context.h"

namespace muster::cli {

void add_render_metrics(CLI::App& render, Context& context);

}  // namespace muster::cli
