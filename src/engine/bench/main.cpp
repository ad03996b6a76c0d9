// muster-bench: measures what the ranks of a job can exchange; one process of it is one rank.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "base/verdict.h"
#include "engine/bench/commands.h"
#include "engine/bench/fabric.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Measures what the ranks of a job exchange: collectives as nccl-tests does, one-sided "
      "operations, and expert parallelism",
      "muster-bench");
  app.require_subcommand(1);
  app.set_version_flag("--version", MUSTER_VERSION);
  int exit_code = muster::kExitInternal;
  muster::measure::add_collectives(app, exit_code);
  muster::measure::add_one_sided(app, exit_code);
  muster::measure::add_experts(app, exit_code);
  muster::measure::add_pairs(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? muster::kExitOk : muster::kExitInternal;
  } catch (const muster::measure::Unsupported& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return muster::kExitBadInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return muster::kExitInternal;
  }
  return exit_code;
}
