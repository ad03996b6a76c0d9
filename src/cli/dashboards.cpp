// muster dashboards: what people look at and what wakes them, made from facts.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/render_files.h"
#include "metrics/boards.h"
#include "metrics/foreign.h"
#include "metrics/scrape.h"

namespace muster::cli {
namespace {

struct BoardsRequest {
  bool tests = false;
};

void render_dashboards(Context& context, const BoardsRequest& request, const RenderWhere& place) {
  if (!is_usable(context, place)) return;
  const auto facts = metrics::load_board_facts(context.files, context.project());
  if (!facts) return context.fail(facts.findings(), kExitBadInput);
  Findings findings = metrics::check_boards(*facts);
  for (Finding& finding : metrics::check_alert_rules(*facts))
    findings.push_back(std::move(finding));
  if (has_errors(findings)) return context.fail(findings, kExitBadInput);
  std::vector<RenderFile> files;
  for (metrics::BoardFile& file : metrics::render_boards(*facts))
    files.push_back({std::move(file.path), std::move(file.content), false});
  for (metrics::BoardFile& file : metrics::render_all_scrapes(facts->exporters))
    files.push_back({std::move(file.path), std::move(file.content), false});
  if (request.tests) {
    for (metrics::BoardFile& file : metrics::render_alert_tests(*facts))
      files.push_back({std::move(file.path), std::move(file.content), false});
  }
  Output output;
  output.data["dashboards"] = facts->dashboards.dashboards.size();
  output.data["alerts"] = facts->alerts.alerts.size();
  deliver(context, files, place, std::move(output));
}

// Findings of files that others wrote; a file that is none of what is known is not checked, and
// that is no pass.
void check_dashboards(Context& context, const std::vector<std::string>& paths) {
  const auto facts = metrics::load_board_facts(context.files, context.project());
  if (!facts) return context.fail(facts.findings(), kExitBadInput);
  Output output;
  output.name = "dashboards check";
  output.judges = true;
  output.rows = "findings";
  output.columns = {
      {"FILE", "file"}, {"LINE", "line", false, true}, {"RULE", "rule"}, {"MESSAGE", "message"}};
  output.text = "";
  auto& files = output.data["files"] = nlohmann::ordered_json::array();
  bool unknown = false;
  for (const std::string& path : paths) {
    const auto text = context.files.read(context.directory / path);
    if (!text) return context.fail(text.findings(), kExitBadInput);
    const auto checked = metrics::check_foreign(*text, path, context.files, *facts);
    output.findings.insert(output.findings.end(), checked.findings.begin(), checked.findings.end());
    const Outcome outcome = has_errors(checked.findings) ? Outcome::kFail
                            : checked.checked == 0       ? Outcome::kUnknown
                                                         : Outcome::kPass;
    unknown |= outcome == Outcome::kUnknown;
    const std::string evidence =
        checked.kind.empty() ? "neither a dashboard, nor rules, nor a scrape configuration"
                             : fmt::format("{}: {} queries or jobs", checked.kind, checked.checked);
    output.checks.push_back({path, outcome, evidence});
    files.push_back({{"file", path}, {"outcome", to_string(outcome)}, {"evidence", evidence}});
    for (const Finding& finding : checked.findings) *output.text += to_string(finding) + "\n";
    *output.text += fmt::format("{}: {}, {}\n", path, to_string(outcome), evidence);
  }
  output.data["findings"] = to_json(output.findings);
  context.print(output);
  if (context.exit_code != kExitOk) return;
  context.exit_code = has_errors(output.findings) ? kExitFailed
                      : unknown                   ? kExitUnverified
                                                  : kExitOk;
}

}  // namespace

void add_dashboards(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("dashboards", "Dashboards and alert rules");
  sub->group("Look");
  sub->require_subcommand(1);
  CLI::App* render = sub->add_subcommand(
      "render", "Dashboards for Grafana and rules for Prometheus, every query checked");
  auto request = std::make_shared<BoardsRequest>();
  auto place = std::make_shared<RenderWhere>();
  render->add_flag("--tests", request->tests,
                   "Also the tests of the rules, for promtool test rules");
  add_render_where(render, place);
  render->footer(
      "Example:\n  muster dashboards render --out validation_and_observability/prometheus-grafana");
  render->callback([&context, request, place] { render_dashboards(context, *request, *place); });

  CLI::App* check = sub->add_subcommand(
      "check",
      "What can't work in dashboards, rules and scrape configurations, whoever wrote them");
  auto paths = std::make_shared<std::vector<std::string>>();
  check->add_option("files", *paths, "Grafana's JSON, Prometheus' or the collector's YAML")
      ->required()
      ->type_name("FILE");
  check->footer("Example:\n  muster dashboards check prometheus.yml rules/*.yml dashboards/*.json");
  check->callback([&context, paths] { check_dashboards(context, *paths); });
}

}  // namespace muster::cli
