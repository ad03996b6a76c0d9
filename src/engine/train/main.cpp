// muster-train: the native training engine.
#include <CLI/CLI.hpp>
#include <exception>

#include "base/verdict.h"
#include "engine/train/score_command.h"
#include "engine/train/tokenize_command.h"
#include "engine/train/train_command.h"

int main(int argc, char** argv) {
  CLI::App app("Trains Llama-family models, and scores text with them", "muster-train");
  app.require_subcommand(1);
  app.set_version_flag("--version", MUSTER_VERSION);
  int exit_code = muster::kExitInternal;

  muster::train::Settings settings;
  CLI::App* train = app.add_subcommand("train", "Train a model on a text");
  muster::train::add_options(*train, settings);
  train->callback([&] { exit_code = muster::train::run_training(settings); });
  muster::train::add_score(app, exit_code);
  muster::train::add_tokenize(app, exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? muster::kExitOk : muster::kExitInternal;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return muster::kExitInternal;
  }
  return exit_code;
}
