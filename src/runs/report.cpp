#include "runs/report.h"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "runs/report_assets.h"
#include "runs/report_bench.h"
#include "runs/report_profile.h"
#include "runs/report_series.h"
#include "runs/report_serving.h"

namespace muster::runs {
namespace {

using nlohmann::json;

/// Rows of a table under a chart: more would be a file, not a text alternative.
constexpr std::size_t kMostRows = 100;

std::string figure(const std::optional<double>& value, const char* form = "{:.4g}") {
  return value ? fmt::format(fmt::runtime(form), *value) : "—";
}

std::string bytes(const std::optional<double>& value) {
  return !value          ? "—"
         : *value >= 1e9 ? fmt::format("{:.2f} GB", *value / 1e9)
                         : fmt::format("{:.0f} MB", *value / 1e6);
}

std::string duration(double seconds) {
  const auto whole = std::llround(seconds);
  return whole < 100    ? fmt::format("{:.1f} s", seconds)
         : whole < 3600 ? fmt::format("{} min {:02d} s", whole / 60, whole % 60)
                        : fmt::format("{} h {:02d} min", whole / 3600, whole % 3600 / 60);
}

std::string badge(Outcome outcome) {
  static constexpr const char* kSign[] = {"✓", "?", "✗"};  // in the order of Outcome
  return fmt::format("<span class=\"badge {0}\"><span aria-hidden=\"true\">{1}</span> {0}</span>",
                     to_string(outcome), kSign[static_cast<int>(outcome)]);
}

/// JSON that may stand in a script element: nothing in it can end the element or begin a comment.
std::string json_in_script(const json& value) {
  std::string out;
  for (const char c : value.dump(-1, ' ', false, json::error_handler_t::replace)) {
    out += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : std::string(1, c);
  }
  return out;
}

json chart_data(const Chart& chart) {
  json lines = json::array();
  for (const Chart::Line& line : chart.lines) {
    json values = json::array();
    for (const auto& value : line.values) {
      values.push_back(value ? json(*value) : json(nullptr));
    }
    lines.push_back({{"label", line.label},
                     {"points", line.points},
                     {"reference", line.reference},
                     {"values", std::move(values)}});
  }
  return {{"title", chart.title},         {"unit", chart.unit},
          {"from_zero", chart.from_zero}, {"x", chart.x},
          {"log_x", chart.log_x},         {"steps", chart.steps},
          {"lines", std::move(lines)}};
}

std::string chart_table(const Chart& chart) {
  std::string head = fmt::format("<th scope=\"col\">{}</th>", escape_html(chart.x));
  for (const Chart::Line& line : chart.lines) {
    head += fmt::format("<th scope=\"col\">{}</th>", escape_html(line.label));
  }
  std::string rows;
  const std::size_t size = chart.steps.size();
  const std::size_t shown = std::min(size, kMostRows);
  for (std::size_t row = 0; row < shown; ++row) {
    const std::size_t i = shown < 2 ? 0 : row * (size - 1) / (shown - 1);  // first and last always
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", chart.steps[i]);
    for (const Chart::Line& line : chart.lines) {
      rows += fmt::format("<td>{}</td>", figure(line.values[i], "{:.5g}"));
    }
    rows += "</tr>\n";
  }
  return fmt::format(
      "<details><summary>As a table{}</summary><div class=\"scroll\" tabindex=\"0\"><table "
      "class=\"figures\"><thead><tr>{}</tr></thead>"
      "<tbody>{}</tbody></table></div></details>",
      shown < size ? fmt::format(" ({} of {} points)", shown, size) : "", head, rows);
}

std::string charts_section(const std::vector<Chart>& charts) {
  if (charts.empty()) {
    return "<p class=\"none\">No step was recorded.</p>";
  }
  std::string out = "<div class=\"charts\">";
  for (const Chart& chart : charts) {
    const std::string caption =
        escape_html(chart.title + (chart.unit.empty() ? "" : " (" + chart.unit + ")"));
    out += fmt::format(
        "<figure><figcaption>{0}</figcaption><div class=\"chart\" role=\"img\" aria-label=\"{0} by "
        "{3}; the figures are in the table below\">"
        "<script type=\"application/json\">{1}</script></div>{2}</figure>\n",
        caption, json_in_script(chart_data(chart)), chart_table(chart), escape_html(chart.x));
  }
  return out + "</div>";
}

std::string checks_section(const ReportRun& run) {
  const auto checks = run.verdict.worst_first();
  if (checks.empty()) {
    return "<p class=\"none\">Not judged yet: nothing was checked.</p>";
  }
  std::string out = "<ul class=\"checks\">";
  for (const Check& check : checks) {
    out += fmt::format("<li>{} <strong>{}</strong><p>{}</p></li>\n", badge(check.outcome),
                       escape_html(check.name), escape_html(check.evidence));
  }
  return out + "</ul>";
}

std::string tiles(const Series& series) {
  double memory = 0;
  for (const RankFigures& rank : series.ranks) {
    memory = std::max(memory, rank.peak_memory.value_or(0));
  }
  std::string out = "<dl class=\"tiles\">";
  const auto tile = [&out](const char* name, const std::string& value) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
  };
  tile("steps", series.steps ? std::to_string(*series.steps) : "—");
  tile("loss, first to last",
       figure(series.first_loss, "{:.2f}") + " → " + figure(series.last_loss, "{:.2f}"));
  tile("evaluation loss", figure(series.eval_loss));
  tile("tokens/s", series.tokens_per_second ? grouped(*series.tokens_per_second) : "—");
  tile("of the measured peak", series.mfu ? fmt::format("{:.1f} %", 100 * *series.mfu) : "—");
  tile("most memory of a rank", bytes(memory > 0 ? std::optional(memory) : std::nullopt));
  tile("start to first step",
       series.start_to_first_step ? duration(*series.start_to_first_step) : "—");
  return out + "</dl>";
}

std::string ranks_section(const Series& series) {
  if (series.ranks.empty()) {
    return "<p class=\"none\">No rank left events.</p>";
  }
  double longest = 0;
  for (const RankFigures& rank : series.ranks) {
    longest = std::max(longest, rank.own_seconds.value_or(0) + rank.wait_seconds.value_or(0));
  }
  std::string out =
      "<p class=\"key\"><span class=\"swatch own\"></span> computing <span class=\"swatch "
      "wait\"></span> waiting for others; "
      "medians over the steps</p><div class=\"scroll\" tabindex=\"0\"><table class=\"figures "
      "ranks\"><thead><tr><th scope=\"col\">rank</th>"
      "<th scope=\"col\" class=\"text\">host</th><th scope=\"col\" class=\"bar\">a step</th><th "
      "scope=\"col\">own "
      "s</th><th scope=\"col\">wait s</th>"
      "<th scope=\"col\">step s</th><th scope=\"col\">memory</th></tr></thead><tbody>";
  for (const RankFigures& rank : series.ranks) {
    const auto percent = [longest](const std::optional<double>& value) {
      return longest > 0 ? 100 * value.value_or(0) / longest : 0.0;
    };
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td class=\"bar\"><div "
        "class=\"bars\" aria-hidden=\"true\">"
        "<i class=\"own\" style=\"width:{:.1f}%\"></i><i class=\"wait\" "
        "style=\"width:{:.1f}%\"></i></div></td>"
        "<td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        rank.rank, escape_html(rank.host), percent(rank.own_seconds), percent(rank.wait_seconds),
        figure(rank.own_seconds, "{:.3f}"), figure(rank.wait_seconds, "{:.3f}"),
        figure(rank.step_seconds, "{:.3f}"), bytes(rank.peak_memory));
  }
  return out + "</tbody></table></div>";
}

/// A JSON value as nested definition lists; arrays of objects become one list each.
std::string as_list(const json& value) {
  if (value.is_object()) {
    std::string out = "<dl class=\"pairs\">";
    for (const auto& [key, item] : value.items()) {
      if (key != "schema_version") {
        out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape_html(key), as_list(item));
      }
    }
    return out + "</dl>";
  }
  if (value.is_array()) {
    std::string out;
    for (const json& item : value) {
      out += item.is_structured() ? as_list(item) : (out.empty() ? "" : ", ") + as_list(item);
    }
    return out;
  }
  return escape_html(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string fold(const std::string& title, const std::string& body) {
  return body.empty() ? ""
                      : fmt::format("<details class=\"fold\"><summary>{}</summary>{}</details>\n",
                                    title, body);
}

std::string environment_section(const ReportRun& run) {
  std::string out;
  out += run.versions.is_object() ? "<h4>Versions</h4>" + as_list(run.versions) : "";
  out += run.topology.is_object() ? "<h4>Topology</h4>" + as_list(run.topology) : "";
  out += run.environment.is_object()
             ? fold(fmt::format("Environment variables ({})", run.environment.size()),
                    as_list(run.environment))
             : "";
  out += run.manifest.empty() ? ""
                              : fold("Manifest, as resolved",
                                     "<pre tabindex=\"0\">" + escape_html(run.manifest) + "</pre>");
  return out.empty() ? "<p class=\"none\">Not recorded.</p>" : out;
}

std::string files_section(const ReportRun& run) {
  if (run.files.empty()) {
    return "<p class=\"none\">No checksums were written: the run has not ended.</p>";
  }
  std::string rows;
  for (const Checksum& file : run.files) {
    rows += fmt::format("<tr><td class=\"text\">{}</td><td class=\"text hash\">{}</td></tr>\n",
                        escape_html(file.path), escape_html(file.sha256));
  }
  return fold(fmt::format("{} files with their SHA-256", run.files.size()),
              "<div class=\"scroll\" tabindex=\"0\"><table class=\"figures\"><thead><tr><th "
              "scope=\"col\">file</th><th "
              "scope=\"col\">SHA-256</th></tr></thead><tbody>" +
                  rows + "</tbody></table></div>");
}

std::string facts(const RunRecord& record) {
  std::string out = fmt::format("{} on {}", record.case_name, record.target);
  out += record.profile.empty() ? "" : ", profile " + record.profile;
  out += fmt::format(", {} {} on {} {}", record.world, record.world == 1 ? "rank" : "ranks",
                     record.nodes, record.nodes == 1 ? "node" : "nodes");
  return out;
}

std::string times(const RunRecord& record) {
  std::string when = to_rfc3339(record.created);  // 2026-11-30T09:48:00.000Z
  when = when.substr(0, 10) + " " + when.substr(11, 8) + " UTC";
  std::string out = "made " + when;
  if (record.ended) {
    const double seconds =
        std::chrono::duration<double>(*record.ended - record.started.value_or(record.created))
            .count();
    out += ", took " + duration(std::max(seconds, 0.0));
  }
  return out + ", " + to_string(record.state);
}

/// The whole of one run; `level` is the heading that it starts with.
std::string run_section(const ReportRun& run, const Series& series) {
  const RunRecord& record = run.record;
  std::string out = fmt::format(
      "<section class=\"run\" id=\"{0}\"><header class=\"verdict {1}\">{2}<h2>{0}</h2><p>{3}</p><p "
      "class=\"times\">{4}</p>{5}</header>\n",
      escape_html(record.id), to_string(run.verdict.outcome()), badge(run.verdict.outcome()),
      escape_html(facts(record)), escape_html(times(record)),
      record.note.empty() ? "" : "<p>" + escape_html(record.note) + "</p>");
  out += "<h3>Checks</h3>" + checks_section(run);
  if (run.bench.is_object()) {
    const auto charts = bench_charts(run.bench);
    const auto load = load_charts(run.bench);
    const std::string matrix = pair_matrix(run.bench);
    if (!charts.empty()) out += "<h3>Bandwidth</h3>" + charts_section(charts);
    if (!load.empty()) out += "<h3>Load</h3>" + charts_section(load);
    out += charts.empty() && load.empty() && matrix.empty()
               ? "<p class=\"none\">No rate was recorded.</p>"
               : matrix;
  } else {
    out += "<h3>Figures</h3>" + tiles(series) + charts_section(series.charts);
    out += "<h3>Ranks</h3>" + ranks_section(series);
  }
  if (!run.profiles.empty()) out += "<h3>Profile</h3>" + profile_section(run.profiles);
  out += "<h3>Environment</h3>" + environment_section(run);
  out += "<h3>Files</h3>" + files_section(run);
  return out + "</section>\n";
}

std::string comparison(const std::vector<ReportRun>& runs, const std::vector<Series>& all,
                       Outcome worst) {
  std::string rows;
  std::vector<std::pair<std::string, const Chart*>> losses;
  std::vector<std::pair<std::string, const Chart*>> rates;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Series& one = all[i];
    rows += fmt::format(
        "<tr><th scope=\"row\"><a href=\"#{0}\">{0}</a></th><td "
        "class=\"text\">{1}</td><td>{2}</td><td>{3}</td><td>{4}</td><td>{5}</td></tr>\n",
        escape_html(runs[i].record.id), badge(runs[i].verdict.outcome()),
        one.steps ? std::to_string(*one.steps) : "—", figure(one.last_loss), figure(one.eval_loss),
        figure(one.tokens_per_second));
    for (const Chart& chart : one.charts) {
      if (chart.title == "Loss") {
        losses.emplace_back(runs[i].record.id, &chart);
      } else if (chart.title == "Throughput") {
        rates.emplace_back(runs[i].record.id, &chart);
      }
    }
  }
  std::vector<Chart> charts{overlay("Training loss", "", losses),
                            overlay("Throughput", "tokens/s", rates)};
  std::erase_if(charts, [](const Chart& chart) { return chart.lines.empty(); });
  return fmt::format(
      "<section class=\"all\"><h2>{} {} runs</h2><div class=\"scroll\" tabindex=\"0\"><table "
      "class=\"figures\"><thead><tr><th scope=\"col\">run</th>"
      "<th scope=\"col\" class=\"text\">verdict</th><th scope=\"col\">steps</th><th "
      "scope=\"col\">loss</th><th "
      "scope=\"col\">evaluation</th>"
      "<th scope=\"col\">tokens/s</th></tr></thead><tbody>{}</tbody></table></div>{}</section>\n",
      badge(worst), runs.size(), rows, charts_section(charts));
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\0':
        out += "\xEF\xBF\xBD";  // U+FFFD, as a browser would read it
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string render_report(const std::vector<ReportRun>& runs) {
  std::vector<Series> all;
  Outcome worst = runs.empty() ? Outcome::kUnknown : Outcome::kPass;
  for (const ReportRun& run : runs) {
    all.push_back(series(run.ranks));
    worst = std::max(worst, run.verdict.outcome());
  }
  const std::string title =
      runs.size() == 1 ? runs.front().record.id : fmt::format("{} runs", runs.size());
  std::string body = runs.size() > 1 ? comparison(runs, all, worst) : "";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    body += run_section(runs[i], all[i]);
  }
  std::string page;
  page += "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
  page +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src "
      "'unsafe-inline'; img-src data:\">\n";
  page += fmt::format("<title>{}: {}</title>\n<style>\n", to_string(worst), escape_html(title));
  page += std::string(kAssetUplotCss) + "\n" + std::string(kAssetReportCss);
  page += "</style>\n</head>\n<body>\n<main>\n<h1>Muster report</h1>\n" + body + "</main>\n";
  page +=
      "<noscript><p>The charts need JavaScript; their figures are in the "
      "tables.</p></noscript>\n<script>\n";
  page += std::string(kAssetUplotJs) + "\n" + std::string(kAssetReportJs);
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace muster::runs
