// `muster tokenize`: text to token ids and back.
#pragma once

namespace CLI {
class App;
}

namespace muster::train {

/// Adds the subcommand; its action sets the exit code: 0, or 2 for input that can't be read.
void add_tokenize(CLI::App& app, int& exit_code);

}  // namespace muster::train
