// muster validate PATH… | --all: checks files offline.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "cli/context.h"
#include "facts/environment.h"
#include "lint/environment.h"
#include "lint/lint.h"
#include "lint/shellcheck.h"

namespace muster::cli {
namespace {

// Findings name files as a person at this directory would.
std::string shown_path(const Context& context, const std::string& file) {
  const std::filesystem::path path(file);
  if (!path.is_absolute()) return file;
  const std::string relative = path.lexically_relative(context.directory).string();
  return relative.empty() || relative.rfind("..", 0) == 0 ? file : relative;
}

// Batch scripts go through shellcheck too, where it is installed. Returns what to say of those that
// did not.
std::string check_shell(Context& context, lint::Report& report) {
  std::vector<std::filesystem::path> scripts;
  for (const auto& [path, checker] : report.checked) {
    if (std::string(checker) == "sbatch") scripts.push_back(path);
  }
  if (scripts.empty()) return {};
  const auto found = lint::shellcheck(context.processes, scripts);
  if (!found) {
    return fmt::format("not checked by shellcheck: {}", found.findings().front().message);
  }
  report.findings.insert(report.findings.end(), found->begin(), found->end());
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.where < b.where; });
  return {};
}

// `unchecked`: why batch scripts were not checked by shellcheck; empty: they were.
void print(Context& context, lint::Report report, const std::string& unchecked) {
  for (Finding& finding : report.findings)
    finding.where.file = shown_path(context, finding.where.file);
  Output output;
  output.name = "validate";
  output.judges = true;
  output.findings = report.findings;
  output.data["files"] = nlohmann::ordered_json::array();
  for (const auto& [path, checker] : report.checked) {
    const std::string file = shown_path(context, path.string());
    output.data["files"].push_back({{"file", file}, {"checker", checker}});
    const bool wrong =
        std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
          return finding.severity == Severity::kError && finding.where.file == file;
        });
    const bool script = std::string(checker) == "sbatch";
    if (!wrong) {  // what is wrong is a finding
      output.checks.push_back(
          {file, Outcome::kPass,
           script && !unchecked.empty() ? fmt::format("{}; {}", checker, unchecked) : checker});
    }
    if (script && !unchecked.empty()) output.data["files"].back()["note"] = unchecked;
  }
  output.data["findings"] = to_json(report.findings);
  output.rows = "findings";
  output.columns = {{"FILE", "file"},
                    {"LINE", "line", false, true},
                    {"COLUMN", "column", false, true},
                    {"SEVERITY", "severity"},
                    {"RULE", "rule"},
                    {"MESSAGE", "message"}};
  output.text = "";
  for (const Finding& finding : report.findings) *output.text += to_string(finding) + "\n";
  context.print(output);
  if (context.exit_code != kExitOk) return;  // the format has no form for it

  context.exit_code = report.exit_code();
  if (report.checked.empty() && !report.unreadable) {
    context.err << "muster: nothing was checked: no file here is of a kind that a checker knows\n";
  } else if (!context.quiet) {
    const auto errors =
        std::count_if(report.findings.begin(), report.findings.end(),
                      [](const Finding& finding) { return finding.severity == Severity::kError; });
    if (!unchecked.empty()) context.err << "batch scripts are " << unchecked << "\n";
    context.err << fmt::format("{} file{} checked, {} error{}\n", report.checked.size(),
                               report.checked.size() == 1 ? "" : "s", errors,
                               errors == 1 ? "" : "s");
  }
}

struct EnvironmentOptions {
  std::string file, instance;
  std::vector<std::string> versions;
  int nodes = 2;
  bool forks = false;
};

// "efa=1.48.0" -> {"efa", "1.48.0"}; names as image.pins has them.
Result<std::map<std::string, std::string>> read_versions(const std::vector<std::string>& texts) {
  static const std::vector<std::string> kNames = {"efa",      "nccl",   "libfabric",
                                                  "ofi_nccl", "kernel", "torch"};
  std::map<std::string, std::string> versions;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    std::string name = text.substr(0, equals);
    std::replace(name.begin(), name.end(), '-', '_');
    if (equals == std::string::npos ||
        std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
      return failure("validate-versions", fmt::format("\"{}\" names no library's version", text),
                     fmt::format("NAME=VERSION, of: {}", fmt::join(kNames, ", ")));
    }
    versions[name] = text.substr(equals + 1);
  }
  return versions;
}

Result<std::string> read_input(const Context& context, const std::string& file) {
  if (file != "-") return context.files.read(file);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

// What the rules depend on, as far as it was said; an instance type that is not known is an error.
Result<facts::Circumstances> circumstances_of(const EnvironmentOptions& options,
                                              const facts::Facts& known) {
  facts::Circumstances circumstances;
  auto versions = read_versions(options.versions);
  if (!versions) return versions.error();
  circumstances.versions = std::move(*versions);
  circumstances.several_nodes = options.nodes > 1;
  circumstances.forks = options.forks;
  if (options.instance.empty()) return circumstances;
  const auto instance = facts::find_instance(known.instances, options.instance);
  if (!instance) return instance.error();
  lint::set_instance(circumstances, known, options.instance);
  return circumstances;
}

void validate_environment(Context& context, const EnvironmentOptions& options) {
  const auto known = facts::load_facts(context.files, context.project());
  if (!known) return context.fail(known.findings(), kExitBadInput);
  const auto circumstances = circumstances_of(options, *known);
  if (!circumstances) return context.fail(circumstances.findings(), kExitBadInput);
  const auto text = read_input(context, options.file);
  if (!text) return context.fail(text.findings(), kExitBadInput);
  const std::string name = options.file == "-" ? "stdin" : options.file;
  const auto entries = lint::parse_environment_text(*text, name);
  lint::Report report;
  if (!entries.empty() && !known->environment.empty()) report.checked.emplace_back(name, "env");
  report.findings =
      lint::check_environment_set(entries, known->environment, *circumstances, {name, 1, 1});
  print(context, std::move(report), {});
}

}  // namespace

void add_validate(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("validate", "Check manifests and facts, offline");
  sub->group("Look");
  auto paths = std::make_shared<std::vector<std::string>>();
  auto all = std::make_shared<bool>(false);
  sub->add_option("path", *paths, "Files, or folders with all that a checker knows in them")
      ->type_name("PATH");
  sub->add_flag("--all", *all, "Everything in the project");
  sub->footer(
      "Exit code: 0 fine, 2 a file can't be read or parsed, 3 errors, 4 nothing was checked.\n"
      "Examples:\n  muster validate --all\n  muster validate "
      "test_cases/training/native/llama/tiny/case.yaml -o sarif");
  CLI::App* env =
      sub->add_subcommand("env", "Judge a set of environment variables of the fabric and of NCCL");
  auto options = std::make_shared<EnvironmentOptions>();
  env->add_option("file", options->file,
                  "NAME=value lines, as env prints them; - is standard input")
      ->required()
      ->type_name("FILE");
  env->add_option("--instance", options->instance, "Instance type that the job runs on")
      ->type_name("TYPE");
  env->add_option("--versions", options->versions,
                  "Versions of the libraries, e.g. efa=1.48.0,nccl=2.30.4; current when absent")
      ->delimiter(',')
      ->type_name("NAME=VERSION");
  env->add_option("--nodes", options->nodes, "Nodes of the job; 2 when absent")->type_name("N");
  env->add_flag("--forks", options->forks, "The program forks, as data loaders do");
  env->footer(
      "Example:\n  env | muster validate env - --instance p5.48xlarge --versions "
      "efa=1.48.0,ofi-nccl=1.19.0");
  env->callback([&context, options] { validate_environment(context, *options); });
  sub->callback([&context, sub, env, paths, all] {
    if (sub->got_subcommand(env)) return;
    if (paths->empty() && !*all) {
      return context.fail({error_at({}, "validate-nothing", "nothing was selected",
                                    "name files or folders, or use --all")},
                          kExitUnverified);
    }
    if (*all && !paths->empty()) {
      return context.fail({error_at({}, "validate-both", "--all and paths exclude each other")},
                          kExitInternal);
    }
    const std::vector<std::filesystem::path> selected(paths->begin(), paths->end());
    lint::Report report = *all ? lint::validate_all(context.files, context.project())
                               : lint::validate(context.files, context.project(), selected);
    // It takes a tenth of a second for each script: for those that are named.
    const bool has_scripts =
        std::any_of(report.checked.begin(), report.checked.end(),
                    [](const auto& file) { return std::string(file.second) == "sbatch"; });
    const std::string unchecked = !*all         ? check_shell(context, report)
                                  : has_scripts ? "not checked by shellcheck: name them for that"
                                                : "";
    print(context, std::move(report), unchecked);
  });
}

}  // namespace muster::cli
