// run: a case from its manifest to its verdict.
#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "cli/bench.h"
#include "cli/context.h"
#include "cli/engine_program.h"
#include "cli/profile_options.h"
#include "cli/run_view.h"
#include "launch/run_case.h"

namespace muster::cli {
namespace {

struct RunOptions {
  std::string case_name;
  std::string target = "local";
  std::string profile;
  std::vector<std::string> settings;
  double timeout = 0;
  double start_timeout = 0;
  std::string context;
  std::string name_space;
  std::string run_directory;
  std::string resume;
  std::string venv;
  bool dry_run = false;
  ProfileOptions profile_options;
};

/// `batch.steps=20`.
Result<std::vector<catalog::Override>> overrides(const std::vector<std::string>& settings) {
  std::vector<catalog::Override> result;
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return failure("run-set", fmt::format("--set {}: not of the form key=value", setting),
                     "for example --set batch.steps=20");
    }
    result.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  // The input is named one way or the other: giving one takes the other away.
  const auto given = [&](const char* key) {
    return std::any_of(result.begin(), result.end(),
                       [&](const catalog::Override& one) { return one.first == key; });
  };
  if (given("data.path") && !given("data.name")) result.emplace_back("data.name", "null");
  if (given("data.name") && !given("data.path")) result.emplace_back("data.path", "null");
  return result;
}

Result<launch::RunRequest> request_of(const RunOptions& options, const Context& context) {
  launch::RunRequest request;
  request.case_name = options.case_name;
  request.profile = options.profile;
  request.resume = options.resume;
  auto target = launch::parse_target(options.target);
  if (!target) return target.error();
  request.target = *target;
  auto settings = overrides(options.settings);
  if (!settings) return settings.error();
  request.overrides = std::move(*settings);
  if (options.start_timeout > 0) {
    request.overrides.emplace_back("rendezvous.start_timeout",
                                   fmt::format("{}s", options.start_timeout));
  }
  for (const auto& [key, value] :
       {std::pair{"context", &options.context}, std::pair{"namespace", &options.name_space}}) {
    if (value->empty()) continue;
    if (*target != launch::Target::kKubernetes && *target != launch::Target::kHyperpodEks) {
      return failure(
          "run-option",
          fmt::format("--{} is of Kubernetes, not of {}", key, launch::to_string(*target)),
          "--target kubernetes, or leave it out");
    }
    request.overrides.emplace_back(fmt::format("targets.{}.{}", launch::to_string(*target), key),
                                   *value);
  }
  if (options.timeout > 0) request.time_limit = options.timeout;
  if (!options.run_directory.empty()) {
    request.run_directory = (context.directory / options.run_directory).lexically_normal();
  }
  if (request.case_name.empty() == request.resume.empty()) {
    return failure("run-case", request.resume.empty() ? "no case is named" : "a case and --resume",
                   "muster run CASE, or muster run --resume RUN");
  }
  request.project = context.project();
  request.caller = context.directory;
  request.runs = context.runs_dir();
  request.trainer = find_engine(context).value_or("");
  request.venv = options.venv.empty() ? context.settings.path("venv")
                                      : (context.directory / options.venv).lexically_normal();
  request.threads = context.settings.number("threads");
  request.comm_timeout = context.settings.number("comm_timeout");
  request.command = context.command_line;
  request.environment = context.environment;
  request.bench_judge = bench_judge_of(context);
  auto profiling = profiling_of(options.profile_options);
  if (!profiling) return profiling.error();
  request.profiling = std::move(*profiling);
  return request;
}

void print_dry_run(const launch::Rendered& rendered, Context& context) {
  Output output;
  output.name = "run";
  output.data["command"] = rendered.command;
  auto files = nlohmann::ordered_json::array();
  std::string text;
  for (const launch::RenderedFile& file : rendered.files) {
    files.push_back({{"path", file.path}, {"content", file.content}});
    text += "# ---- " + file.path + "\n" + file.content + "\n";
  }
  output.data["files"] = files;
  output.rows = "files";
  std::string command;
  for (const std::string& word : rendered.command) command += (command.empty() ? "" : " ") + word;
  output.text = text + "# ---- submitted with\n" + command + "\n";
  context.print(output);
}

void run(const RunOptions& options, Context& context) {
  const auto request = request_of(options, context);
  if (!request) return context.fail(request.findings(), kExitBadInput);
  const launch::Seams seams{context.files, context.processes, context.clock};
  launch::Refusal error;
  const auto prepared = launch::prepare(*request, seams, error);
  if (!prepared) return context.fail(error.findings, error.code);
  for (const Finding& warning : prepared->resolved.warnings) {
    if (!context.quiet) context.err << to_string(warning) << '\n';
  }
  if (options.dry_run) {
    const auto rendered = launch::dry_run(*request, *prepared);
    if (!rendered) return context.fail(rendered.findings(), kExitBadInput);
    return print_dry_run(*rendered, context);
  }

  RunView view(context);
  const launch::RunOutcome outcome = launch::run_case(*request, *prepared, seams, view);
  view.end();
  if (outcome.refusal) return context.fail(outcome.refusal->findings, outcome.refusal->code);
  for (const std::string& line : outcome.last_words) view.say("  | " + line);
  context.print(run_output(context, outcome));
  view.say("evidence: " + outcome.record.directory.string());
  if (context.exit_code == kExitOk) context.exit_code = outcome.code;
}

}  // namespace

void add_run(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("run", "Run a case, follow it and judge it");
  sub->group("Runs");
  auto options = std::make_shared<RunOptions>();
  sub->add_option("case", options->case_name, "Name of the case, or path of its manifest")
      ->type_name("CASE");
  sub->add_option("--target", options->target,
                  "Where it runs: local, slurm, kubernetes, hyperpod-eks, batch")
      ->type_name("TARGET")
      ->capture_default_str();
  sub->add_option("--profile", options->profile, "Profile of the case, e.g. smoke")
      ->type_name("NAME");
  sub->add_option("--set", options->settings, "A value of the manifest: key=value; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--timeout", options->timeout, "End the run after this many seconds (exit 124)")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  sub->add_option("--start-timeout", options->start_timeout,
                  "Seconds within which every node or pod must have started, instead of the case's")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  sub->add_option("--context", options->context,
                  "Context of the kubeconfig, instead of the case's or the current one")
      ->type_name("NAME");
  sub->add_option("-n,--namespace", options->name_space,
                  "Namespace of the objects, instead of the case's")
      ->type_name("NAME");
  sub->add_option("--run-dir", options->run_directory,
                  "Record the run here instead of in a new folder of the runs' directory")
      ->type_name("DIR");
  sub->add_option("--resume", options->resume,
                  "Take this run up again from its last checkpoint (instead of a case)")
      ->type_name("RUN");
  sub->add_option("--venv", options->venv,
                  "Python environment for a case of another framework, instead of one made from "
                  "its requirements.txt")
      ->type_name("DIR");
  add_profile_options(*sub, options->profile_options);
  sub->add_flag("--dry-run", options->dry_run,
                "Print what would be submitted; needs nothing installed");
  sub->callback([options, &context] { run(*options, context); });
}

}  // namespace muster::cli
