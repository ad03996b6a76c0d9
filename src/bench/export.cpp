#include "bench/export.h"

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/output.h"
#include "bench/judge_checks.h"

namespace muster::bench {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json remarks_json(const std::vector<Remark>& remarks) {
  Json list = Json::array();
  for (const Remark& remark : remarks)
    list.push_back({{"line", remark.line}, {"text", remark.text}});
  return list;
}

std::string figure_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.10g}", *value) : "N/A";
}

/// The two placements of one size.
struct Halves {
  const Record* out_of_place = nullptr;
  const Record* in_place = nullptr;
};

/// Rows in order of their first appearance.
std::vector<Halves> rows_of(const Run& run) {
  std::vector<Halves> rows;
  std::map<std::string, std::size_t> known;
  for (const Record& record : run.records) {
    if (!record.size) continue;
    const std::string key = fmt::format("{}/{}/{}/{}/{}", *record.size, record.type,
                                        record.reduction, record.root.value_or(-1), record.variant);
    const auto [at, fresh] = known.emplace(key, rows.size());
    // A size that comes again is another cycle of the run.
    const bool in_place = record.placement == "in-place";
    if (!fresh && (in_place ? rows[at->second].in_place : rows[at->second].out_of_place))
      at->second = rows.size();
    if (at->second == rows.size()) rows.emplace_back();
    (in_place ? rows[at->second].in_place : rows[at->second].out_of_place) = &record;
  }
  return rows;
}

std::vector<std::string> half_cells(const Record* half) {
  if (half == nullptr) return {"", "", "", ""};
  return {figure_text(half->time), figure_text(half->algbw), figure_text(half->busbw),
          figure_text(half->wrong)};
}

std::string label_text(std::string_view value) {
  std::string out;
  for (const char c : value) {
    out += c == '\\' ? "\\\\" : c == '"' ? "\\\"" : c == '\n' ? "\\n" : std::string(1, c);
  }
  return out;
}

std::string prometheus_labels(const Record& record) {
  std::string labels;
  const auto add = [&labels](const char* name, const std::string& value) {
    if (value.empty()) return;
    labels += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",", name, label_text(value));
  };
  const auto number = [&add](const char* name, const auto& value) {
    if (value) add(name, fmt::format("{}", *value));
  };
  add("tool", record.tool);
  add("operation", record.operation);
  add("type", record.type);
  add("reduction", record.reduction);
  add("placement", record.placement);
  add("variant", record.variant);
  number("ranks", record.ranks);
  number("nodes", record.nodes);
  number("size_bytes", record.size);
  return labels;
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string markdown_figure(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "–";
}

}  // namespace

Json to_json(const Record& record) {
  return {{"tool", record.tool},
          {"version", record.version},
          {"operation", record.operation},
          {"type", record.type},
          {"reduction", record.reduction},
          {"placement", record.placement},
          {"variant", record.variant},
          {"root", or_null(record.root)},
          {"ranks", or_null(record.ranks)},
          {"nodes", or_null(record.nodes)},
          {"size", or_null(record.size)},
          {"count", or_null(record.count)},
          {"time_us", or_null(record.time)},
          {"algbw", or_null(record.algbw)},
          {"busbw", or_null(record.busbw)},
          {"wrong", or_null(record.wrong)},
          {"line", record.line}};
}

Json to_json(const Log& log) {
  Json runs = Json::array(), records = Json::array(), transports = Json::array();
  for (const Run& run : log.runs) {
    Json settings = Json::object();
    for (const auto& [name, value] : run.settings) settings[name] = value;
    for (const Record& record : run.records) {
      Json one = to_json(record);
      one["run"] = runs.size();
      one["series"] = series_key(run, record);
      records.push_back(std::move(one));
    }
    runs.push_back({{"tool", run.tool},
                    {"version", run.version},
                    {"operation", run.operation},
                    {"line", run.line},
                    {"ranks", or_null(ranks_of(run))},
                    {"nodes", or_null(nodes_of(run))},
                    {"hosts", hosts_of(run)},
                    {"ended", run.ended},
                    {"has_summary", run.has_summary},
                    {"out_of_bounds", or_null(run.out_of_bounds)},
                    {"average_busbw", or_null(run.average_busbw)},
                    {"settings", std::move(settings)},
                    {"wrong", remarks_json(run.wrong)},
                    {"broken", remarks_json(run.broken)}});
  }
  constexpr const char* kKinds[] = {"fast", "slow", "failed"};
  for (const Transport& transport : log.transports) {
    transports.push_back({{"kind", kKinds[static_cast<int>(transport.kind)]},
                          {"name", transport.name},
                          {"line", transport.line},
                          {"text", transport.text},
                          {"devices", or_null(transport.devices)}});
  }
  Json data = Json::object();
  data["file"] = log.file;
  data["runs"] = std::move(runs);
  data["records"] = std::move(records);
  data["transports"] = std::move(transports);
  data["nccl"] = log.nccl;
  data["nranks"] = or_null(log.nranks);
  data["separate"] = separate_runs(log).value_or("");
  data["findings"] = muster::to_json(log.findings);
  return data;
}

std::string results_csv(const std::vector<Log>& logs) {
  std::ostringstream out;
  write_csv_row(out, {"Size_Bytes", "Size_KB", "Size_MB", "Count", "Data_Type", "Operation", "Root",
                      "OOP_Time_us", "OOP_AlgBW_GBps", "OOP_BusBW_GBps", "OOP_Errors", "IP_Time_us",
                      "IP_AlgBW_GBps", "IP_BusBW_GBps", "IP_Errors"});
  for (const Log& log : logs) {
    for (const Run& run : log.runs) {
      for (const Halves& row : rows_of(run)) {
        const Record& any = row.out_of_place != nullptr ? *row.out_of_place : *row.in_place;
        const double size = static_cast<double>(*any.size);
        std::vector<std::string> cells = {fmt::format("{}", *any.size),
                                          fmt::format("{:.10g}", size / 1024),
                                          fmt::format("{:.10g}", size / 1024 / 1024),
                                          any.count ? fmt::format("{}", *any.count) : "",
                                          any.type,
                                          any.reduction.empty() ? "none" : any.reduction,
                                          any.root ? fmt::format("{}", *any.root) : ""};
        for (const Record* half : {row.out_of_place, row.in_place}) {
          const auto more = half_cells(half);
          cells.insert(cells.end(), more.begin(), more.end());
        }
        write_csv_row(out, cells);
      }
    }
  }
  return out.str();
}

std::string summary_csv(const std::vector<Log>& logs) {
  std::size_t points = 0;
  std::optional<std::uint64_t> smallest, largest;
  std::optional<double> errors, average;
  struct Rate {
    double peak = 0, sum = 0;
    std::size_t count = 0;
  };
  Rate rates[2];  // out of place, in place
  for (const Log& log : logs) {
    for (const Run& run : log.runs) {
      points += rows_of(run).size();
      if (run.average_busbw) average = run.average_busbw;
      for (const Record& record : run.records) {
        if (record.size) {
          smallest = std::min(smallest.value_or(*record.size), *record.size);
          largest = std::max(largest.value_or(*record.size), *record.size);
        }
        if (record.wrong) errors = errors.value_or(0) + *record.wrong;
        if (!record.busbw) continue;
        Rate& rate = rates[record.placement == "in-place" ? 1 : 0];
        rate.peak = std::max(rate.peak, *record.busbw);
        rate.sum += *record.busbw;
        ++rate.count;
      }
    }
  }
  std::ostringstream out;
  const auto whole_text = [](const std::optional<std::uint64_t>& value) {
    return value ? fmt::format("{}", *value) : "N/A";
  };
  const auto mean = [](const Rate& rate) {
    return rate.count > 0 ? figure_text(rate.sum / static_cast<double>(rate.count)) : "N/A";
  };
  const auto peak = [](const Rate& rate) {
    return rate.count > 0 ? figure_text(rate.peak) : "N/A";
  };
  write_csv_row(out, {"Metric", "Value"});
  write_csv_row(out, {"Total_Data_Points", fmt::format("{}", points)});
  write_csv_row(out, {"Min_Size_Bytes", whole_text(smallest)});
  write_csv_row(out, {"Max_Size_Bytes", whole_text(largest)});
  write_csv_row(out, {"Peak_OOP_BusBW_GBps", peak(rates[0])});
  write_csv_row(out, {"Peak_IP_BusBW_GBps", peak(rates[1])});
  write_csv_row(out, {"Mean_OOP_BusBW_GBps", mean(rates[0])});
  write_csv_row(out, {"Mean_IP_BusBW_GBps", mean(rates[1])});
  write_csv_row(out, {"Total_Errors", figure_text(errors)});
  write_csv_row(out, {"NCCL_Reported_Avg_BusBW_GBps", figure_text(average)});
  return out.str();
}

std::string prometheus_text(const std::vector<Log>& logs) {
  struct Family {
    const char* name;
    const char* help;
    std::optional<double> Record::*member;
    double unit;
  };
  constexpr Family kFamilies[] = {
      {"muster_bench_time_seconds", "Time of one operation", &Record::time, 1e-6},
      {"muster_bench_algbw_bytes_per_second", "Size over time", &Record::algbw, 1e9},
      {"muster_bench_busbw_bytes_per_second", "Rate of the busiest link, by nccl-tests' factors",
       &Record::busbw, 1e9},
      {"muster_bench_wrong_values", "Values that were wrong; absent when not checked",
       &Record::wrong, 1}};
  std::string text;
  for (const Family& family : kFamilies) {
    std::map<std::string, double> series;  // the last of equal labels
    for (const Log& log : logs) {
      for (const Run& run : log.runs) {
        for (const Record& record : run.records) {
          if (const auto& value = record.*family.member)
            series[prometheus_labels(record)] = *value * family.unit;
        }
      }
    }
    if (series.empty()) continue;
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", family.name, family.help);
    for (const auto& [labels, value] : series)
      text += fmt::format("{}{{{}}} {:.10g}\n", family.name, labels, value);
  }
  return text;
}

std::string markdown(const std::vector<Log>& logs) {
  std::string text =
      "| Tool | Operation | Type | Placement | Variant | Ranks | Nodes | Size (B) | Time (µs) | "
      "algbw (GB/s) | busbw (GB/s) | Wrong |\n"
      "|---|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const Log& log : logs) {
    for (const Run& run : log.runs) {
      for (const Record& record : run.records) {
        const auto number = [](const auto& value) {
          return value ? fmt::format("{}", *value) : std::string("–");
        };
        text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                            markdown_cell(record.tool), markdown_cell(record.operation),
                            markdown_cell(record.type), record.placement,
                            markdown_cell(record.variant), number(record.ranks),
                            number(record.nodes), number(record.size), markdown_figure(record.time),
                            markdown_figure(record.algbw), markdown_figure(record.busbw),
                            record.wrong ? fmt::format("{:g}", *record.wrong) : "not checked");
      }
    }
  }
  return text;
}

}  // namespace muster::bench
