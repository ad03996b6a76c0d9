// JSON that is neither nccl-tests' nor a vendor's: Muster's own records, read back, and
// pplx-garden's percentiles.
#include <map>

#include <fmt/format.h>

#include "base/schema.h"
#include "bench/reader.h"

namespace muster::bench {
namespace {

std::optional<int> own_small(const Node& node, std::string_view key) {
  const auto value = number_at(node, key);
  if (!value || *value < -1 || *value > 1e9) return std::nullopt;
  return static_cast<int>(*value);
}

Record own_record(const Node& node) {
  Record record;
  record.tool = text_at(node, "tool");
  record.version = text_at(node, "version");
  record.operation = text_at(node, "operation");
  record.type = text_at(node, "type");
  record.reduction = text_at(node, "reduction");
  record.placement = text_at(node, "placement");
  record.variant = text_at(node, "variant");
  const auto count = [&node](std::string_view key) -> std::optional<std::uint64_t> {
    const auto value = number_at(node, key);
    if (!value || *value < 0 || *value > 1e18) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
  };
  record.root = own_small(node, "root");
  record.ranks = own_small(node, "ranks");
  record.nodes = own_small(node, "nodes");
  record.size = count("size");
  record.count = count("count");
  record.time = number_at(node, "time_us");
  record.algbw = number_at(node, "algbw");
  record.busbw = number_at(node, "busbw");
  record.wrong = number_at(node, "wrong");
  record.line = node.where().line;
  return record;
}

std::vector<Remark> own_remarks(const Node& node, std::string_view key) {
  std::vector<Remark> remarks;
  if (const Node* list = node_at(node, key)) {
    for (const Node& one : list->items())
      remarks.push_back(
          {static_cast<int>(integer_at(one, "line").value_or(0)), text_at(one, "text")});
  }
  return remarks;
}

void read_own_run(const Node& node, LogBuilder& builder) {
  Run& run = builder.open(text_at(node, "tool"), {{}, {}, node.where().line});
  run.version = text_at(node, "version");
  run.operation = text_at(node, "operation");
  run.ranks = own_small(node, "ranks");
  run.nodes = own_small(node, "nodes");
  run.ended = boolean_at(node, "ended").value_or(true);
  run.has_summary = boolean_at(node, "has_summary").value_or(false);
  run.out_of_bounds = number_at(node, "out_of_bounds");
  run.average_busbw = number_at(node, "average_busbw");
  run.wrong = own_remarks(node, "wrong");
  run.broken = own_remarks(node, "broken");
  if (const Node* settings = node_at(node, "settings")) {
    for (const Node::Entry& entry : settings->entries())
      run.settings[entry.key] = entry.value.text();
  }
  for (const std::string& host : texts_at(node, "hosts"))
    run.devices.push_back({static_cast<int>(run.devices.size()), host, {}, {}, node.where().line});
}

void read_own_transport(const Node& node, LogBuilder& builder) {
  const std::string kind = text_at(node, "kind");
  builder.log.transports.push_back({kind == "fast"   ? Transport::Kind::kFast
                                    : kind == "slow" ? Transport::Kind::kSlow
                                                     : Transport::Kind::kFailed,
                                    text_at(node, "name"), node.where().line, text_at(node, "text"),
                                    own_small(node, "devices")});
}

/// What a log was judged by comes back with its records: what passes as JSON passed as a log.
void read_own_log(const Node& log, LogBuilder& builder) {
  const Node* records = log.find("records");
  if (records == nullptr || !records->is_sequence()) return;
  std::map<double, std::size_t> by_number;
  if (const Node* runs = node_at(log, "runs")) {
    for (const Node& node : runs->items()) {
      by_number.emplace(static_cast<double>(by_number.size()), builder.log.runs.size());
      read_own_run(node, builder);
    }
  }
  const std::size_t listed = by_number.size();
  for (const Node& node : records->items()) {
    if (!node.is_mapping()) continue;
    const double number = number_at(node, "run").value_or(0);
    Record record = own_record(node);
    if (by_number.count(number) == 0) {
      by_number[number] = builder.log.runs.size();
      Run& run = builder.open(record.tool, {{}, {}, node.where().line});
      run.version = record.version;
      run.operation = record.operation;
      run.ranks = record.ranks;
      run.nodes = record.nodes;
      run.ended = true;
    }
    Run& run = builder.log.runs[by_number[number]];
    const bool told = number < static_cast<double>(listed) && !run.wrong.empty();
    if (record.wrong.value_or(0) > 0 && !told)
      run.wrong.push_back({record.line, fmt::format("{} B: {:g} wrong values",
                                                    record.size.value_or(0), *record.wrong)});
    run.records.push_back(std::move(record));
  }
  if (const Node* transports = node_at(log, "transports")) {
    for (const Node& node : transports->items()) read_own_transport(node, builder);
  }
  if (const Node* findings = node_at(log, "findings")) {
    for (const Node& node : findings->items())
      builder.unread({{}, {}, node.where().line}, text_at(node, "message"));
  }
  if (const auto separate = text_at(log, "separate"); !separate.empty())
    builder.log.separate = separate;
  if (const auto nccl = text_at(log, "nccl"); !nccl.empty()) builder.log.nccl = nccl;
  if (const auto ranks = own_small(log, "nranks")) builder.log.nranks = ranks;
}

}  // namespace

bool read_own_json(const Node& document, LogBuilder& builder) {
  if (!document.is_mapping()) return false;
  const Node* logs = document.find("logs");
  if (logs != nullptr && logs->is_sequence()) {
    for (const Node& log : logs->items()) {
      if (log.is_mapping()) read_own_log(log, builder);
    }
    return true;
  }
  if (document.find("records") == nullptr) return false;
  read_own_log(document, builder);
  return true;
}

/// pplx-garden: {dispatch: {both, send, recv}, combine: …}, each with percentiles in microseconds.
bool read_pplx_json(const Node& document, LogBuilder& builder) {
  const Node* dispatch = document.is_mapping() ? document.find("dispatch") : nullptr;
  const Node* combine = document.is_mapping() ? document.find("combine") : nullptr;
  if (dispatch == nullptr || combine == nullptr || !dispatch->is_mapping()) return false;
  Run& run = builder.open("pplx-garden", {{}, {}, document.where().line});
  run.ended = true;
  for (const auto& [name, node] : {std::pair{"dispatch", dispatch}, {"combine", combine}}) {
    for (const char* part : {"both", "send", "recv"}) {
      const Node* figures = node->find(part);
      if (figures == nullptr || !figures->is_mapping()) continue;
      Record record;
      record.tool = run.tool;
      record.operation = name;
      record.variant = part;
      record.time = number_at(*figures, "p50");
      record.line = figures->where().line;
      run.records.push_back(std::move(record));
    }
  }
  return true;
}

}  // namespace muster::bench
