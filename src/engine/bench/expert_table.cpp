#include "engine/bench/expert_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/export.h"
#include "engine/bench/table.h"

namespace muster::measure {
namespace {

const char* form_name(const ExpertPlan& plan) {
  return plan.low_latency ? "low-latency" : "normal";
}
const char* path_name(const ExpertPlan& plan) {
  return plan.path == ExpertPath::kAllToAllV ? "alltoallv" : "hierarchical";
}
const char* payload_name(const ExpertPlan& plan) {
  return plan.shape.payload == bench::Payload::kFp8 ? "f8e4m3" : "bfloat16";
}
const char* operation_name(const ExpertPlan& plan) {
  return !plan.combine ? "dispatch" : !plan.dispatch ? "combine" : "both";
}

/// What makes a run unlike others, by the names of DeepEP's [config] line.
std::vector<std::pair<std::string, std::string>> settings_of(const ExpertPlan& plan) {
  const ExpertShape& shape = plan.shape;
  return {{"form", form_name(plan)},
          {"path", path_name(plan)},
          {"num_tokens", fmt::format("{}", shape.tokens)},
          {"hidden", fmt::format("{}", shape.hidden)},
          {"num_topk", fmt::format("{}", shape.top_k)},
          {"num_topk_groups", fmt::format("{}", shape.groups)},
          {"num_experts", fmt::format("{}", shape.experts)},
          {"dtype", payload_name(plan)},
          {"routing", to_string(shape.skew)},
          {"masked", fmt::format("{}", shape.masked)},
          {"seed", fmt::format("{}", plan.seed)}};
}

double rate(const ExpertRow& row) {
  return row.time > 0 ? bench::algbw(row.bytes, row.time) : 0;
}

struct Sum {
  std::size_t wrong = 0;
  bool checked = false;
};

Sum sum_of(const std::vector<ExpertRow>& rows) {
  Sum sum;
  std::vector<std::string> seen;  // an operation's rows all tell the same count
  for (const ExpertRow& row : rows) {
    if (!row.wrong || std::find(seen.begin(), seen.end(), row.operation) != seen.end()) continue;
    seen.push_back(row.operation);
    sum.checked = true;
    sum.wrong += *row.wrong;
  }
  return sum;
}

}  // namespace

std::string expert_header(const ExpertPlan& plan, const std::vector<Seat>& seats,
                          const std::string& fabric, const std::string& processor) {
  std::string text = fmt::format("# muster-bench version {} {}\n", MUSTER_VERSION, fabric);
  text += fmt::format("# Expert-parallel test starting: {}\n# ranks: {} nodes: {}",
                      operation_name(plan), plan.shape.ranks, plan.shape.nodes);
  for (const auto& [name, value] : settings_of(plan)) text += fmt::format(" {}: {}", name, value);
  text += fmt::format("\n# warmup iters: {} iters: {} validation: {}\n#\n# Using devices\n",
                      plan.warmup, plan.iterations, plan.checks);
  for (const Seat& seat : seats)
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device  0 [cpu] {}\n", seat.rank,
                        seat.pid, seat.host, processor);
  text += fmt::format(
      "#\n#{:>9}  {:>8}  {:>12}  {:>12}  {:>8}  {:>8}  {:>8}  {:>8}  {:>7}  {:>8}  {:>6}\n",
      "operation", "type", "variant", "size(B)", "rows", "time(us)", "min(us)", "max(us)",
      "slowest", "BW(GB/s)", "#wrong");
  return text;
}

std::string line(const ExpertRow& row) {
  std::string variant = row.variant;
  std::replace(variant.begin(), variant.end(), ' ', ':');
  return fmt::format(
      "{:>10}  {:>8}  {:>12}  {:>12.0f}  {:>8.0f}  {:>8}  {:>8}  {:>8}  {:>7}  {:>8.3f}  {:>6}\n",
      row.operation, row.type, variant, std::round(row.bytes), std::round(row.rows),
      time_text(row.time), time_text(row.fastest), time_text(row.slowest), row.slowest_rank,
      rate(row), row.wrong ? fmt::format("{}", *row.wrong) : "N/A");
}

std::string expert_footer(const std::vector<ExpertRow>& rows) {
  const Sum sum = sum_of(rows);
  return fmt::format("# Out of bounds values : {} {}\n# Expert-parallel test concluded\n",
                     sum.wrong,
                     !sum.checked     ? "unchecked"
                     : sum.wrong == 0 ? "OK"
                                      : "FAILED");
}

std::string expert_json(const ExpertPlan& plan, const std::vector<Seat>& seats,
                        const std::vector<ExpertRow>& rows) {
  bench::Log log;
  bench::Run run;
  run.tool = "muster-bench";
  run.version = MUSTER_VERSION;
  run.ranks = plan.shape.ranks;
  run.nodes = plan.shape.nodes;
  run.ended = run.has_summary = true;
  for (const auto& [name, value] : settings_of(plan)) run.settings[name] = value;
  for (const Seat& seat : seats)
    run.devices.push_back({seat.rank, seat.host, fmt::format("{}", seat.pid), "cpu", 0});
  for (const ExpertRow& row : rows) {
    bench::Record record;
    record.tool = run.tool;
    record.version = run.version;
    record.operation = row.operation;
    record.type = row.type;
    record.variant = row.variant;
    record.ranks = run.ranks;
    record.nodes = run.nodes;
    record.size = static_cast<std::uint64_t>(std::llround(row.bytes));
    record.count = static_cast<std::uint64_t>(std::llround(row.rows));
    record.time = row.time;
    record.algbw = rate(row);
    if (row.wrong) record.wrong = static_cast<double>(*row.wrong);
    run.records.push_back(std::move(record));
  }
  const Sum sum = sum_of(rows);
  if (sum.checked) run.out_of_bounds = static_cast<double>(sum.wrong);
  log.runs.push_back(std::move(run));
  nlohmann::ordered_json json = {{"schema_version", 1}, {"logs", nlohmann::ordered_json::array()}};
  json["logs"].push_back(bench::to_json(log));
  return json.dump(2) + "\n";
}

}  // namespace muster::measure
