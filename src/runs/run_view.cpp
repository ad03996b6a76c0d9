#include "runs/run_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_system.h"
#include "runs/evidence.h"
#include "runs/report.h"
#include "runs/report_series.h"

namespace muster::runs {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered or_null(const std::optional<double>& value) {
  return value ? Ordered(*value) : Ordered(nullptr);
}

Ordered figures_of(const Series& series) {
  Ordered out;
  out["steps"] = series.steps ? Ordered(*series.steps) : Ordered(nullptr);
  out["first_loss"] = or_null(series.first_loss);
  out["last_loss"] = or_null(series.last_loss);
  out["eval_loss"] = or_null(series.eval_loss);
  out["tokens_per_second"] = or_null(series.tokens_per_second);
  out["mfu"] = or_null(series.mfu);
  out["seconds"] = or_null(series.seconds);
  out["start_to_first_step_seconds"] = or_null(series.start_to_first_step);
  return out;
}

Ordered ranks_of(const Series& series) {
  Ordered out = Ordered::array();
  for (const RankFigures& rank : series.ranks) {
    out.push_back({{"rank", rank.rank},
                   {"host", rank.host},
                   {"step_seconds", or_null(rank.step_seconds)},
                   {"own_seconds", or_null(rank.own_seconds)},
                   {"wait_seconds", or_null(rank.wait_seconds)},
                   {"peak_memory", or_null(rank.peak_memory)}});
  }
  return out;
}

std::string text_of(const Ordered& data) {
  std::string out;
  const auto line = [&out](const std::string& name, const std::string& value) {
    if (!value.empty() && value != "null") {
      out += fmt::format("{:<12}{}\n", name, value);
    }
  };
  const auto plain = [](const Ordered& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  line("run", plain(data["name"]));
  for (const char* key : {"case", "target", "profile", "state", "note", "nodes", "world", "created",
                          "started", "ended", "directory"}) {
    if (data.contains(key)) {
      line(key, plain(data[key]));
    }
  }
  line("verdict", plain(data["verdict"]["outcome"]));
  for (const Ordered& check : data["verdict"]["checks"]) {
    out += fmt::format("  {:<8}{:<20}{}\n", plain(check["outcome"]), plain(check["name"]),
                       plain(check["evidence"]));
  }
  for (const auto& [name, value] : data["figures"].items()) {
    if (!value.is_null()) {
      out += fmt::format(
          "  {:<28}{}\n", name,
          value.is_number_float() ? fmt::format("{:.6g}", value.get<double>()) : value.dump());
    }
  }
  if (data["files"]["count"] > 0) {
    const auto& findings = data["files"]["findings"];
    line("files", fmt::format("{}, {}", data["files"]["count"].dump(),
                              findings.empty()
                                  ? "all as they were when the run ended"
                                  : fmt::format("{} changed, missing or extra:", findings.size())));
    for (const Ordered& finding : findings) {
      out += fmt::format("  {}: {}\n", plain(finding["file"]), plain(finding["message"]));
    }
  }
  return out;
}

}  // namespace

Ordered run_item(const RunRecord& record) {
  const nlohmann::json all = to_json(record);
  Ordered item{{"name", record.id}};
  for (const char* key :
       {"case", "target", "profile", "state", "outcome", "note", "nodes", "world", "created",
        "started", "ended", "exit_code", "directory", "launcher", "command"}) {
    if (const auto found = all.find(key); found != all.end() && *found != "") {
      item[key] =
          Ordered::parse(found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
  }
  return item;
}

std::vector<OutputColumn> run_item_columns() {
  return {{"RUN", "name"},
          {"CASE", "case"},
          {"TARGET", "target"},
          {"PROFILE", "profile"},
          {"STATE", "state"},
          {"VERDICT", "outcome"},
          {"CREATED", "created"},
          {"RANKS", "world", true, true},
          {"ENDED", "ended", true},
          {"NOTE", "note", true},
          {"DIRECTORY", "directory", true}};
}

nlohmann::ordered_json run_figures(const RunRecord& record) {
  return figures_of(series(read_rank_events(record.directory.string())));
}

Result<RunDetails> run_details(const RunRecord& record) {
  const auto run = load_report_run(record);
  if (!run) {
    return run.error();
  }
  const Series curves = series(run->ranks);
  Ordered data = run_item(record);
  data["verdict"] = muster::to_json(run->verdict);
  data["figures"] = figures_of(curves);
  data["ranks"] = ranks_of(curves);
  data["versions"] = run->versions;
  data["topology"] = run->topology;
  Findings findings;
  if (!run->files.empty()) {
    const auto verified = verify(record.directory);
    findings = verified ? *verified : verified.findings();
  }
  data["files"] = {{"count", run->files.size()}, {"findings", muster::to_json(findings)}};
  std::string text = text_of(data);
  return RunDetails{std::move(data), std::move(text)};
}

}  // namespace muster::runs
