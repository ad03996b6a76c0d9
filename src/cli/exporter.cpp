// muster exporter: hands over to muster-exporter, with all that follows the verb as it is.
#include <CLI/CLI.hpp>

#include "cli/engine_program.h"

namespace muster::cli {

void add_exporter(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand(
      "exporter", "Tell Prometheus of this host: EFA, GPUs, Slurm, health, results");
  sub->group("Health");
  sub->footer("All options go to muster-exporter; 'muster exporter --help' shows them.");
  sub->prefix_command();
  sub->fallthrough(false);
  sub->set_help_flag();  // --help is muster-exporter's
  sub->callback([sub, &context] { hand_over("muster-exporter", "", sub->remaining(), context); });
}

}  // namespace muster::cli
