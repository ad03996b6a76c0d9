// muster completion SHELL: the shell's completion script.
#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "cli/command_tree.h"
#include "cli/context.h"

namespace muster::cli {

void add_completion(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("completion", "Print the completion script of a shell");
  sub->group("This machine");
  sub->footer(
      "bash:  source <(muster completion bash)\n"
      "zsh:   muster completion zsh > ~/.zfunc/_muster\n"
      "fish:  muster completion fish > ~/.config/fish/completions/muster.fish");
  CLI::Option* shell = sub->add_option("shell", "The shell")
                           ->required()
                           ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}))
                           ->type_name("SHELL");
  sub->callback([&root, &context, shell] {
    const CommandInfo tree = describe(root);
    const std::string name = shell->as<std::string>();
    context.out << (name == "bash"  ? bash_completion(tree)
                    : name == "zsh" ? zsh_completion(tree)
                                    : fish_completion(tree));
  });
}

}  // namespace muster::cli
