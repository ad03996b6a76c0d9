#include "runs/report_bench.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runs/report.h"
#include "runs/statistics.h"

namespace muster::runs {
namespace {

using nlohmann::json;
using Points = std::map<long long, double>;

const json& bench_list(const json& value, const char* key) {
  static const json kNone = json::array();
  if (!value.is_object()) return kNone;
  const auto found = value.find(key);
  return found != value.end() && found->is_array() ? *found : kNone;
}

std::string bench_text(const json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The series without what all of a chart share: its tool and operation.
std::string line_label(const std::string& series) {
  std::size_t slash = series.find('/');
  slash = slash == std::string::npos ? slash : series.find('/', slash + 1);
  return slash == std::string::npos ? series : series.substr(slash + 1);
}

using Lines = std::map<std::string, Points>;

/// What was measured first, then what it is held to.
Chart bandwidth_chart(const std::string& operation, const Lines& measured,
                      const Lines& references) {
  Chart chart;
  chart.title = operation;
  chart.unit = "GB/s";
  chart.x = "bytes";
  chart.log_x = true;
  chart.from_zero = true;
  std::set<long long> sizes;
  for (const Lines* lines : {&measured, &references}) {
    for (const auto& [label, points] : *lines) {
      for (const auto& [size, rate] : points) sizes.insert(size);
    }
  }
  chart.steps.assign(sizes.begin(), sizes.end());
  for (const Lines* lines : {&measured, &references}) {
    for (const auto& [label, points] : *lines) {
      Chart::Line line;
      line.label = label;
      line.reference = lines == &references;
      for (const long long size : chart.steps) {
        const auto at = points.find(size);
        line.values.push_back(at != points.end() ? std::optional(at->second) : std::nullopt);
      }
      chart.lines.push_back(std::move(line));
    }
  }
  return chart;
}

}  // namespace

std::vector<Chart> bench_charts(const json& bench) {
  std::map<std::string, Lines> operations;
  for (const json& log : bench_list(bench, "logs")) {
    for (const json& record : bench_list(log, "records")) {
      if (!record.is_object()) continue;
      const auto size = record.find("size");
      if (size == record.end() || !size->is_number_integer() || *size <= 0) continue;
      for (const char* key : {"busbw", "algbw"}) {
        const auto rate = record.find(key);
        if (rate == record.end() || !rate->is_number()) continue;
        operations[bench_text(record, "operation")][line_label(bench_text(record, "series"))]
                  [size->get<long long>()] = rate->get<double>();
        break;
      }
    }
  }
  std::vector<Chart> charts;
  for (const auto& [operation, lines] : operations) {
    Lines references;
    for (const json& reference : bench_list(bench, "references")) {
      if (!reference.is_object() || bench_text(reference, "operation") != operation) continue;
      Points& points = references[bench_text(reference, "label")];
      for (const json& point : bench_list(reference, "points")) {
        if (point.is_array() && point.size() == 2 && point[0].is_number_integer() &&
            point[1].is_number())
          points[point[0].get<long long>()] = point[1].get<double>();
      }
    }
    charts.push_back(bandwidth_chart(operation, lines, references));
  }
  return charts;
}

std::string pair_matrix(const json& bench) {
  const auto pairs = bench.is_object() ? bench.find("pairs") : bench.end();
  if (!bench.is_object() || pairs == bench.end() || !pairs->is_object()) return {};
  const json& nodes = bench_list(*pairs, "nodes");
  const json& rates = bench_list(*pairs, "rates");
  std::vector<double> all;
  for (const json& row : rates) {
    if (!row.is_array()) continue;
    for (const json& rate : row) {
      if (rate.is_number()) all.push_back(rate.get<double>());
    }
  }
  const auto middle = median(all);
  if (!middle || *middle <= 0) return {};
  const auto name = [&nodes](std::size_t at) {
    return at < nodes.size() && nodes[at].is_string() ? escape_html(nodes[at].get<std::string>())
                                                      : std::string();
  };
  std::string head, body;
  for (std::size_t column = 0; column < nodes.size(); ++column)
    head += fmt::format("<th scope=\"col\">{}</th>", name(column));
  for (std::size_t row = 0; row < rates.size(); ++row) {
    body += fmt::format("<tr><th scope=\"row\">{}</th>", name(row));
    for (std::size_t column = 0; column < nodes.size(); ++column) {
      const bool known =
          rates[row].is_array() && column < rates[row].size() && rates[row][column].is_number();
      if (!known) {
        body += row == column ? "<td class=\"self\"></td>" : "<td>–</td>";
        continue;
      }
      const double rate = rates[row][column].get<double>();
      const double share = rate / *middle;
      // In steps of 5 % below the median; the figure is there as well, colour is not needed.
      const int step = std::clamp(static_cast<int>((1 - share) / 0.05), 0, 6);
      body += fmt::format("<td class=\"heat{}\">{:.4g}</td>", step, rate);
    }
    body += "</tr>\n";
  }
  return fmt::format(
      "<h3>Pairs</h3><p class=\"key\">GB/s between two nodes; the median pair has {:.4g}, darker "
      "is "
      "slower</p><div class=\"scroll\" tabindex=\"0\"><table class=\"figures heat\"><thead><tr><th "
      "scope=\"col\"></th>{}</tr></thead><tbody>{}</tbody></table></div>",
      *middle, head, body);
}

}  // namespace muster::runs
