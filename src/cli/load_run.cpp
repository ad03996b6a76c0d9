// Runs the load, prints and keeps what came of it.
#include <algorithm>
#include <ostream>
#include <sstream>

#include <fmt/format.h>

#include "base/output.h"
#include "base/progress.h"
#include "base/redact.h"
#include "base/table.h"
#include "cli/bench.h"
#include "cli/load.h"
#include "cli/run_view.h"
#include "load/compare.h"
#include "runs/machine.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string level_label(const load::DriveOptions& drive, double rate) {
  return drive.open_loop ? fmt::format("{:.3g} requests/s", rate)
                         : fmt::format("concurrency {}", drive.concurrency);
}

/// Runs one level; what it measured, without the single samples unless they are wanted.
Result<load::Level> run_level(Context& context, const LoadPlan& plan, load::DriveOptions& drive,
                              bool keep_samples) {
  Progress progress(context.err, context.clock, context.show_progress());
  const std::string label = level_label(drive, plan.rate);
  const double whole_time = std::chrono::duration<double>(drive.duration).count();
  drive.watch = [&](std::uint64_t done, std::uint64_t failed, int open, double seconds) {
    progress.update(label, std::min(1.0, seconds / whole_time),
                    fmt::format("{} done, {} failed, {} open", done, failed, open));
    return !interrupted();
  };
  auto result = load::drive(drive);
  progress.clear();
  if (!result) return result.error();
  load::Level level;
  level.concurrency = drive.open_loop ? 0 : drive.concurrency;
  level.rate = drive.open_loop ? plan.rate : 0;
  level.summary = load::summarise(*result, plan.warm_up, drive.duration, plan.objectives);
  level.drive = std::move(*result);
  drive.first_conversation += level.drive.samples.size() + 1;
  if (!keep_samples) level.drive.samples.clear();
  return level;
}

Result<std::vector<load::Level>> run_levels(Context& context, const LoadPlan& plan,
                                            const LoadRequest& request) {
  constexpr int kMostUsers = 4096;
  load::DriveOptions drive = plan.drive;
  std::vector<load::Level> levels;
  const bool keep = !request.samples.empty();
  if (!plan.sweeps) {
    auto level = run_level(context, plan, drive, keep);
    if (!level) return level.error();
    levels.push_back(std::move(*level));
    return levels;
  }
  for (std::size_t i = 0; plan.doubles || i < plan.levels.size(); ++i) {
    drive.concurrency = plan.doubles ? 1 << i : plan.levels[i];
    auto level = run_level(context, plan, drive, keep);
    if (!level) return level.error();
    levels.push_back(std::move(*level));
    if (levels.back().drive.interrupted || levels.back().summary.complete == 0) break;
    if (plan.doubles &&
        (load::sweep_is_over(levels, request.slo_share / 100) || drive.concurrency >= kMostUsers))
      break;
  }
  return levels;
}

Json level_json(const load::Level& level, int accelerators) {
  Json json;
  json["concurrency"] = level.concurrency;
  json["rate"] = level.rate;
  const Json figures = load::to_json(level.summary, accelerators);
  for (const auto& [key, value] : figures.items()) json[key] = value;
  json["most_open"] = level.drive.most_open;
  json["generator"] = {{"loop_ms", load::to_json(level.drive.loop)},
                       {"send_delay_ms", load::to_json(level.drive.send_delay)},
                       {"cpu_seconds", level.drive.cpu_seconds}};
  json["generator"]["stolen_share"] =
      level.drive.stolen_share < 0 ? Json() : Json(level.drive.stolen_share);
  return json;
}

std::string samples_text(const std::vector<load::Level>& levels) {
  std::string text;
  for (const load::Level& level : levels) {
    for (const load::Sample& sample : level.drive.samples) {
      Json row = {{"concurrency", level.concurrency},
                  {"conversation", sample.conversation},
                  {"turn", sample.turn},
                  {"scheduled_ns", sample.scheduled},
                  {"sent_ns", sample.sent},
                  {"end_ns", sample.end},
                  {"pieces_ns", sample.pieces},
                  {"asked_tokens", sample.asked_tokens},
                  {"prompt_tokens", sample.prompt_tokens},
                  {"output_tokens", sample.output_tokens},
                  {"status", sample.status},
                  {"finish", sample.finish},
                  {"error", sample.error}};
      text += row.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
    }
  }
  return text;
}

/// The levels as a table for people.
std::string levels_text(const std::vector<load::Level>& levels,
                        const std::optional<std::size_t>& knee, bool color) {
  Table table({{"LOAD"},
               {"REQUESTS", true},
               {"ERRORS", true},
               {"REQ/S", true},
               {"TOKENS/S", true},
               {"TTFT P50", true},
               {"P99", true},
               {"ITL P50", true},
               {"P99", true},
               {"E2E P50", true},
               {"P99", true},
               {"GOOD", true}});
  const auto at = [](const load::Histogram& histogram, double percent) {
    return histogram.count() == 0
               ? std::string("-")
               : fmt::format("{:.4g} ms", static_cast<double>(histogram.percentile(percent)) / 1e6);
  };
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const load::Summary& summary = levels[i].summary;
    std::string name = levels[i].concurrency > 0
                           ? fmt::format("concurrency {}", levels[i].concurrency)
                           : fmt::format("{:.3g} requests/s", levels[i].rate);
    if (knee == i) name += "  <- knee";
    table.add({name, std::to_string(summary.requests),
               std::to_string(summary.requests - summary.complete),
               fmt::format("{:.4g}", summary.requests_per_second),
               fmt::format("{:.5g}", summary.output_tokens_per_second), at(summary.ttft, 50),
               at(summary.ttft, 99), at(summary.itl, 50), at(summary.itl, 99), at(summary.e2e, 50),
               at(summary.e2e, 99),
               summary.good_share ? fmt::format("{:.1f} %", *summary.good_share * 100) : "-"});
  }
  std::ostringstream out;
  table.write(out, color);
  return out.str();
}

/// Writes what the options ask for; false when something could not be written.
bool write_files(Context& context, const LoadRequest& request, const Output& output,
                 const std::vector<load::Level>& levels) {
  const Redactor redactor;
  if (!request.out.empty()) {
    Json document = {{"schema_version", 1}};
    for (const auto& [key, value] : output.data.items()) document[key] = redactor.redact(value);
    const auto written = context.files.write(context.directory / request.out, json_text(document));
    if (!written) return context.fail(written.findings(), kExitInternal), false;
  }
  if (!request.samples.empty()) {
    const auto written =
        context.files.write(context.directory / request.samples, samples_text(levels));
    if (!written) return context.fail(written.findings(), kExitInternal), false;
  }
  return true;
}

void compare_with(const LoadRequest& request, const LoadPlan& plan, Output& output,
                  Verdict& verdict, Findings& findings) {
  if (plan.before.is_null()) return;
  const auto comparison =
      load::compare_loads(plan.before, nlohmann::json(output.data), request.tolerance / 100);
  if (!comparison) {
    findings = comparison.findings();
    return;
  }
  for (const Check& check : comparison->verdict.checks())
    verdict.add("against: " + check.name, check.outcome, check.evidence);
  Json rows = Json::array();
  for (const load::Change& change : comparison->changes) {
    rows.push_back({{"level", change.level},
                    {"figure", change.figure},
                    {"before", change.before},
                    {"after", change.after},
                    {"ratio", change.ratio() ? Json(*change.ratio()) : Json()}});
  }
  output.data["against"] = std::move(rows);
}

}  // namespace

void run_load(Context& context, const LoadRequest& request) {
  auto plan = understand(context, request);
  if (!plan) return context.fail(plan.findings(), kExitBadInput);
  catch_interrupts();
  const auto levels = run_levels(context, *plan, request);
  if (!levels) return context.fail(levels.findings(), kExitUnverified);

  const double share = request.slo_share / 100;
  const auto best = plan->sweeps ? load::knee(*levels, share) : std::nullopt;
  Verdict verdict;
  const Redactor redactor;
  const Verdict judged = load::judge_levels(*levels, plan->objectives, share, plan->lag);
  for (const Check& check : judged.checks())
    verdict.add(check.name, check.outcome, redactor.redact(check.evidence));

  Output output;
  output.name = "load";
  output.data["server"] = redactor.redact(plan->drive.server);
  output.data["workload"] = plan->workload;
  output.data["warm_up_seconds"] = std::chrono::duration<double>(plan->warm_up).count();
  output.data["duration_seconds"] = std::chrono::duration<double>(plan->drive.duration).count();
  output.data["accelerators"] = request.accelerators > 0 ? Json(request.accelerators) : Json();
  output.data["machine"] = runs::this_machine();
  output.data["levels"] = Json::array();
  for (const load::Level& level : *levels)
    output.data["levels"].push_back(level_json(level, request.accelerators));
  output.data["knee"] = best ? Json((*levels)[*best].concurrency) : Json();
  Findings findings;
  compare_with(request, *plan, output, verdict, findings);
  if (!findings.empty()) return context.fail(findings, kExitBadInput);
  output.data["verdict"] = to_json(verdict);
  output.rows = "levels";
  output.columns = {{"CONCURRENCY", "concurrency", false, true},
                    {"RATE", "rate", false, true},
                    {"REQUESTS", "requests", false, true},
                    {"COMPLETE", "complete", false, true},
                    {"TOKENS/S", "output_tokens_per_second", false, true},
                    {"TTFT P50 MS", "ttft_ms.p50", false, true},
                    {"TTFT P99 MS", "ttft_ms.p99", false, true},
                    {"ITL P50 MS", "itl_ms.p50", false, true},
                    {"ITL P99 MS", "itl_ms.p99", false, true},
                    {"E2E P99 MS", "e2e_ms.p99", false, true}};
  output.judges = true;
  output.checks = verdict.worst_first();
  output.text = levels_text(*levels, best, context.color_out()) + '\n' +
                verdict_text("load on " + output.data["server"].get<std::string>(), verdict,
                             context.out_is_terminal ? terminal_width() : 0, context.color_out());
  context.print(output);
  if (!write_files(context, request, output, *levels)) return;
  if (request.record) {
    Json data = output.data;
    data.erase("verdict");
    record_bench(context, {"load/" + request.api, 1, 1, verdict, data, {}, request.model});
  }
  const bool ended = std::any_of(levels->begin(), levels->end(),
                                 [](const load::Level& level) { return level.drive.interrupted; });
  if (context.exit_code == kExitOk)
    context.exit_code = ended ? kExitInterrupted : exit_code(verdict.outcome());
}

}  // namespace muster::cli
