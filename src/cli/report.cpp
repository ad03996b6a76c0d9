// muster report: one self-contained HTML page on one or several runs.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "cli/context.h"
#include "metrics/runs.h"
#include "runs/profile.h"
#include "runs/report.h"
#include "runs/run_store.h"
#include "runs/run_view.h"

namespace muster::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string out, textfile;
  bool open = false;
};

void open_page(Context& context, const std::filesystem::path& page) {
  constexpr const char* kOpener = "xdg-open";
  if (!context.processes.find(kOpener)) {
    context.fail(
        {warning_at({}, "report-open", fmt::format("there is no {} to open the page with", kOpener),
                    "open " + page.string() + " in a browser")},
        kExitUnverified);
    return;
  }
  Command command;
  command.argv = {kOpener, page.string()};
  command.time_limit = std::chrono::seconds(20);
  const auto opened = context.processes.run(command);
  if (!opened) {
    context.fail(opened.findings(), kExitUnverified);
  } else if (opened->exit_code != 0) {
    context.fail({warning_at({}, "report-open",
                             fmt::format("{} exited with {}", kOpener, opened->exit_code))},
                 kExitUnverified);
  }
}

/// The last run of every case that the store knows, as metrics.
Result<void> write_metrics(Context& context, runs::RunStore& store, const std::string& file) {
  const auto records = store.list();
  if (!records) return Failure(records.findings());
  std::vector<metrics::RunResult> results;
  for (const runs::RunRecord& record : *records) {
    if (!runs::is_final(record.state)) continue;
    metrics::RunResult result{record, {}, runs::run_figures(record)};
    if (const auto run = runs::load_report_run(record)) result.verdict = run->verdict;
    results.push_back(std::move(result));
  }
  metrics::Exposition exposition;
  metrics::collect_runs(results, exposition);
  return context.files.write(context.directory / file, exposition.text());
}

/// Where the time went, when the run was profiled. False: refused, and why has been said.
bool add_profiles(Context& context, runs::ReportRun& run) {
  const auto folder = run.record.directory / runs::kProfileFolder;
  if (!context.files.exists(folder)) return true;
  const auto rules = facts::load_nsight(context.files, context.project());
  runs::Profile profile;
  const auto read = rules ? runs::read_profile_folder(context.files, folder, *rules, profile)
                          : Result<void>(rules.error());
  if (!read) {
    context.fail(read.findings(), kExitBadInput);
    return false;
  }
  run.profiles = runs::break_down(profile, *rules);
  if (run.profiles.empty()) run.profiles.emplace_back();
  for (const std::string& gap : profile.gaps) run.profiles.front().gaps.push_back(gap);
  return true;
}

void report(Context& context, const ReportOptions& options) {
  if (!context.files.exists(context.runs_dir())) {
    // A project without runs has nothing to report on; a folder that somebody named is a mistake.
    const bool named =
        !options.runs.empty() || context.settings.all().at("runs_dir").origin != "default";
    const auto why =
        failure("run-unknown",
                fmt::format("there is no run: {} does not exist", context.runs_dir().string()),
                "muster run CASE makes one");
    return context.fail(why.findings, named ? kExitBadInput : kExitUnverified);
  }
  auto store = runs::RunStore::open(context.runs_dir(), context.clock);
  if (!store) {
    return context.fail(store.findings(), kExitInternal);
  }
  if (!options.textfile.empty()) {
    const auto written = write_metrics(context, *store, options.textfile);
    if (!written) return context.fail(written.findings(), kExitInternal);
    // Only a page that was asked for is written beside it.
    if (options.runs.empty() && options.out.empty() && !options.open) return;
  }
  const std::vector<std::string> last{"last"};
  std::vector<runs::ReportRun> chosen;
  for (const std::string& name : options.runs.empty() ? last : options.runs) {
    const auto record = store->find(name);
    if (!record) {
      return context.fail(record.findings(),
                          options.runs.empty() ? kExitUnverified : kExitBadInput);
    }
    auto run = runs::load_report_run(*record);
    if (!run) {
      return context.fail(run.findings(), kExitBadInput);
    }
    if (!add_profiles(context, *run)) return;
    chosen.push_back(std::move(*run));
  }
  std::filesystem::path page = options.out;
  if (page.empty()) {
    page = (chosen.size() == 1 ? chosen.front().record.directory : store->root()) / "report.html";
  }
  page = (context.directory / page).lexically_normal();
  if (const auto written = context.files.write(page, runs::render_report(chosen)); !written) {
    return context.fail(written.findings(), kExitInternal);
  }

  Output output;
  output.name = "report";
  output.text = page.string() + "\n";
  output.rows = "runs";
  output.columns = {{"RUN", "name"}, {"VERDICT", "verdict.outcome"}};
  output.data["report"] = page.string();
  auto& list = output.data["runs"] = nlohmann::ordered_json::array();
  for (const runs::ReportRun& run : chosen) {
    list.push_back({{"name", run.record.id},
                    {"case", run.record.case_name},
                    {"state", runs::to_string(run.record.state)},
                    {"verdict", to_json(run.verdict)}});
    for (const Check& check : run.verdict.worst_first()) {
      output.checks.push_back(check);
    }
  }
  context.print(output);
  if (options.open) {
    open_page(context, page);
  }
}

}  // namespace

void add_report(CLI::App& root, Context& context) {
  CLI::App* sub =
      root.add_subcommand("report", "Write one self-contained HTML page on one or several runs");
  sub->group("Runs");
  const auto options = std::make_shared<ReportOptions>();
  sub->add_option("run", options->runs,
                  "Runs: id, the beginning of one, directory, or last (the default)")
      ->type_name("RUN");
  sub->add_option("--out", options->out,
                  "The page; default: report.html in the run's directory, or in that of all runs "
                  "for several")
      ->type_name("FILE");
  sub->add_option("--textfile", options->textfile,
                  "Write the last run of every case as metrics: for muster-exporter's folder, or "
                  "node_exporter's")
      ->type_name("FILE.prom");
  sub->add_flag("--open", options->open, "Open the page in the browser");
  sub->footer(
      "Prints where the page is. It needs no other file and makes no request; the verdict comes "
      "first.");
  sub->callback([&context, options] { report(context, *options); });
}

}  // namespace muster::cli
