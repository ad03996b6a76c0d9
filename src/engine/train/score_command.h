// `muster score`: what a model thinks of given sequences.
#pragma once

namespace CLI {
class App;
}

namespace muster::train {

/// Adds the subcommand; its action sets the exit code: 0, 2 for input that can't be read, 3 when a
/// figure is not finite.
void add_score(CLI::App& app, int& exit_code);

}  // namespace muster::train
