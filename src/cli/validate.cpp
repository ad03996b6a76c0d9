// muster validate PATH… | --all: checks files offline.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "cli/context.h"
#include "lint/lint.h"

namespace muster::cli {
namespace {

// Findings name files as a person at this directory would.
std::string shown_path(const Context& context, const std::string& file) {
  const std::filesystem::path path(file);
  if (!path.is_absolute()) return file;
  const std::string relative = path.lexically_relative(context.directory).string();
  return relative.empty() || relative.rfind("..", 0) == 0 ? file : relative;
}

void print(Context& context, lint::Report report) {
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
    if (!wrong)
      output.checks.push_back({file, Outcome::kPass, checker});  // what is wrong is a finding
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
    context.err << fmt::format("{} file{} checked, {} error{}\n", report.checked.size(),
                               report.checked.size() == 1 ? "" : "s", errors,
                               errors == 1 ? "" : "s");
  }
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
  sub->callback([&context, paths, all] {
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
    print(context, *all ? lint::validate_all(context.files, context.project())
                        : lint::validate(context.files, context.project(), selected));
  });
}

}  // namespace muster::cli
