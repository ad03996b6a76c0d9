#include "engine/bench/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::measure {
namespace {

std::string rate_text(double gigabytes) {
  if (gigabytes >= 10000) return fmt::format("{:6.1e}", gigabytes);
  if (gigabytes >= 1000) return fmt::format("{:6.1f}", gigabytes);
  return fmt::format("{:6.2f}", gigabytes);
}

std::string half_text(const Half& half) {
  return fmt::format("  {}  {}  {}  {:>6}", time_text(half.microseconds), rate_text(half.algbw),
                     rate_text(half.busbw), half.wrong ? fmt::format("{}", *half.wrong) : "N/A");
}

std::string program(const Sweep& sweep) {
  return std::string(to_string(sweep.operation)) + "_perf";
}

nlohmann::ordered_json half_json(const Half& half, bool cpu_time) {
  nlohmann::ordered_json json;
  json[cpu_time ? "cpu_time" : "time"] = half.microseconds;
  json["alg_bw"] = half.algbw;
  json["bus_bw"] = half.busbw;
  json["nwrong"] = half.wrong ? nlohmann::ordered_json(*half.wrong) : nlohmann::ordered_json();
  return json;
}

const char* reduction_text(const Row& row) {
  return row.reduction ? to_string(*row.reduction) : "none";
}

}  // namespace

std::string time_text(double microseconds) {
  if (microseconds >= 1e7) return fmt::format("{:7.1e}", microseconds);
  if (microseconds >= 10000) return fmt::format("{:7.0f}", microseconds);
  if (microseconds >= 100) return fmt::format("{:7.1f}", microseconds);
  return fmt::format("{:7.2f}", microseconds);
}

std::string header(const Sweep& sweep, const std::vector<Seat>& seats, const std::string& fabric,
                   const std::string& processor) {
  std::string text = fmt::format("# muster-bench version {} {}\n", MUSTER_VERSION, fabric);
  text += fmt::format("# Collective test starting: {}\n", program(sweep));
  text += fmt::format(
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: "
      "{} "
      "validation: {} graph: 0\n#\n# Using devices\n",
      sweep.min_bytes, sweep.max_bytes,
      sweep.step_factor > 1 ? fmt::format("{:g}(factor)", sweep.step_factor)
                            : fmt::format("{}(bytes)", sweep.step_bytes),
      sweep.warmup, sweep.iterations, sweep.aggregated, sweep.checks);
  for (const Seat& seat : seats)
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [{}] {}\n", seat.rank,
                        seat.pid, seat.host, seat.device, seat.bus,
                        seat.model.empty() ? processor : seat.model);
  text += fmt::format("#\n#{:>61}{:>33}{:>33}\n", "", "out-of-place", "in-place");
  text +=
      fmt::format("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type", "redop", "root");
  const char* time = sweep.cpu_time ? "cputime" : "time";
  for (int i = 0; i < 2; ++i)
    text += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", time, "algbw", "busbw", "#wrong");
  text += fmt::format("\n#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}", "(B)", "(elements)", "", "", "");
  for (int i = 0; i < 2; ++i)
    text += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  return text + "\n";
}

std::string line(const Row& row) {
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}{}{}\n", row.bytes, row.count,
                     to_string(row.type), reduction_text(row), row.root,
                     half_text(row.out_of_place), half_text(row.in_place),
                     row.time.empty() ? "" : "  ", row.time);
}

Summary summarise(const std::vector<Row>& rows) {
  Summary summary;
  double sum = 0;
  for (const Row& row : rows) {
    for (const Half* half : {&row.out_of_place, &row.in_place}) {
      sum += half->busbw;
      summary.checked = summary.checked || half->wrong.has_value();
      summary.out_of_bounds += half->wrong.value_or(0);
    }
  }
  if (!rows.empty()) summary.average_busbw = sum / static_cast<double>(2 * rows.size());
  return summary;
}

std::string footer(const Sweep& sweep, const Summary& summary) {
  return fmt::format(
      "# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g} \n#\n"
      "# Collective test concluded: {}\n",
      summary.out_of_bounds,
      !summary.checked             ? "unchecked"
      : summary.out_of_bounds == 0 ? "OK"
                                   : "FAILED",
      summary.average_busbw, program(sweep));
}

std::string to_json(const Sweep& sweep, const std::vector<std::string>& arguments,
                    const std::vector<Seat>& seats, const std::string& fabric,
                    const std::string& processor, const std::vector<Row>& rows,
                    const std::string& start, const std::string& end) {
  using Json = nlohmann::ordered_json;
  Json json = {{"version", 3},      {"tool", "muster-bench"}, {"tool_version", MUSTER_VERSION},
               {"fabric", fabric},  {"test", program(sweep)}, {"start_time", start},
               {"args", arguments}, {"nccl_version", nullptr}};
  Json config = {{"nthreads", 1},
                 {"ngpus", 1},
                 {"minimum_bytes", sweep.min_bytes},
                 {"maximum_bytes", sweep.max_bytes}};
  if (sweep.step_factor > 1) {
    config["step_factor"] = sweep.step_factor;
  } else {
    config["step_bytes"] = sweep.step_bytes;
  }
  config.update(Json{{"warmup_iters", sweep.warmup},
                     {"iterations", sweep.iterations},
                     {"aggregated_iterations", sweep.aggregated},
                     {"validation", sweep.checks},
                     {"graph", 0},
                     {"blocking_collectives", false},
                     {"parallel_init", false}});
  json["config"] = std::move(config);
  json["devices"] = Json::array();
  for (const Seat& seat : seats)
    json["devices"].push_back({{"rank", seat.rank},
                               {"group", 0},
                               {"pid", seat.pid},
                               {"hostname", seat.host},
                               {"device", seat.device},
                               {"device_info", seat.model.empty() ? processor : seat.model}});
  json["results"] = Json::array();
  for (const Row& row : rows)
    json["results"].push_back({{"size", row.bytes},
                               {"count", row.count},
                               {"type", to_string(row.type)},
                               {"redop", reduction_text(row)},
                               {"root", fmt::format("{}", row.root)},
                               {"out_of_place", half_json(row.out_of_place, sweep.cpu_time)},
                               {"in_place", half_json(row.in_place, sweep.cpu_time)}});
  const Summary summary = summarise(rows);
  json["out_of_bounds"] = {
      {"count", summary.out_of_bounds},
      {"okay", summary.checked ? Json(summary.out_of_bounds == 0) : Json("unchecked")}};
  json["average_bus_bandwidth"] = {{"bandwidth", summary.average_busbw}, {"okay", "unchecked"}};
  json["errors"] = Json::array();
  json["end_time"] = end;
  return json.dump(2) + "\n";
}

}  // namespace muster::measure
