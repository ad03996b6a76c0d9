// train, score, tokenize: hand over to muster-train, with all that follows the verb as it is.
#include <string>

#include <CLI/CLI.hpp>

#include "cli/engine_program.h"

namespace muster::cli {
namespace {

void add(CLI::App& root, Context& context, const char* verb, const char* description) {
  CLI::App* sub = root.add_subcommand(verb, description);
  sub->group("Native engine");
  sub->footer(std::string("All options go to muster-train; 'muster ") + verb +
              " --help' shows them.");
  sub->prefix_command();
  sub->fallthrough(false);
  sub->set_help_flag();  // --help is muster-train's
  sub->callback(
      [sub, verb, &context] { hand_over("muster-train", verb, sub->remaining(), context); });
}

}  // namespace

void add_engine(CLI::App& root, Context& context) {
  add(root, context, "train",
      "Train a model in this process (one rank of it under mpirun or srun)");
  add(root, context, "score",
      "Log-probabilities, cross-entropy and gradients of a model on given text");
  add(root, context, "tokenize", "Text to token ids and back");
}

}  // namespace muster::cli
