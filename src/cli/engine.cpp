// train, score, tokenize: hand over to muster-train, with all that follows the verb as it is.
#include <unistd.h>

#include <cerrno>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/engine_program.h"

namespace muster::cli {
namespace {

void hand_over(const std::string& verb, const std::vector<std::string>& arguments,
               Context& context) {
  const auto program = find_engine(context);
  if (!program) {
    context.fail(
        {error_at({}, "engine-missing",
                  "the native engine is not built: no " + engine_places(context).front().string(),
                  std::string("build it with: ") + kBuildEngine)},
        kExitUnverified);
    return;
  }
  std::vector<std::string> words = {program->string(), verb};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  context.out.flush();
  ::execv(program->c_str(), pointers.data());
  context.fail({error_at({program->string(), 0, 0}, "engine-start",
                         "can't be started: " + std::generic_category().message(errno))},
               kExitUnverified);
}

void add(CLI::App& root, Context& context, const char* verb, const char* description) {
  CLI::App* sub = root.add_subcommand(verb, description);
  sub->group("Native engine");
  sub->footer(std::string("All options go to muster-train; 'muster ") + verb +
              " --help' shows them.");
  sub->prefix_command();
  sub->fallthrough(false);
  sub->set_help_flag();  // --help is muster-train's
  sub->callback([sub, verb, &context] { hand_over(verb, sub->remaining(), context); });
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
