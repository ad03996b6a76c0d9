// JSON that is neither nccl-tests' nor a vendor's: Muster's own records, read back, and
// pplx-garden's percentiles.
#include <map>

#include <fmt/format.h>

#include "bench/reader.h"

namespace muster::bench {
namespace {

std::optional<double> own_number(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  return found != nullptr ? found->as_double() : std::nullopt;
}

std::string own_text(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  return found != nullptr && found->is_scalar() ? found->text() : std::string();
}

Record own_record(const Node& node) {
  Record record;
  record.tool = own_text(node, "tool");
  record.version = own_text(node, "version");
  record.operation = own_text(node, "operation");
  record.type = own_text(node, "type");
  record.reduction = own_text(node, "reduction");
  record.placement = own_text(node, "placement");
  record.variant = own_text(node, "variant");
  const auto count = [&node](std::string_view key) -> std::optional<std::uint64_t> {
    const auto value = own_number(node, key);
    if (!value || *value < 0 || *value > 1e18) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
  };
  const auto small = [&node](std::string_view key) -> std::optional<int> {
    const auto value = own_number(node, key);
    if (!value || *value < -1 || *value > 1e9) return std::nullopt;
    return static_cast<int>(*value);
  };
  record.root = small("root");
  record.ranks = small("ranks");
  record.nodes = small("nodes");
  record.size = count("size");
  record.count = count("count");
  record.time = own_number(node, "time_us");
  record.algbw = own_number(node, "algbw");
  record.busbw = own_number(node, "busbw");
  record.wrong = own_number(node, "wrong");
  record.line = node.where().line;
  return record;
}

void read_own_log(const Node& log, LogBuilder& builder) {
  const Node* records = log.find("records");
  if (records == nullptr || !records->is_sequence()) return;
  const Node* runs = log.find("runs");
  std::map<double, std::size_t> by_number;
  for (const Node& node : records->items()) {
    if (!node.is_mapping()) continue;
    const double number = own_number(node, "run").value_or(0);
    Record record = own_record(node);
    if (by_number.count(number) == 0) {
      by_number[number] = builder.log.runs.size();
      Run& run = builder.open(record.tool, {{}, {}, node.where().line});
      run.version = record.version;
      run.operation = record.operation;
      run.ranks = record.ranks;
      run.nodes = record.nodes;
      run.ended = true;
      const auto at = static_cast<std::size_t>(number);
      if (runs != nullptr && runs->is_sequence() && number >= 0 && at < runs->items().size()) {
        const Node& same = runs->items()[at];
        if (const Node* settings = same.find("settings"); settings != nullptr) {
          for (const Node::Entry& entry : settings->entries())
            run.settings[entry.key] = entry.value.text();
        }
        if (const Node* ended = same.find("ended")) run.ended = ended->as_bool().value_or(true);
        int rank = 0;
        if (const Node* hosts = same.find("hosts"); hosts != nullptr && hosts->is_sequence()) {
          for (const Node& host : hosts->items())
            run.devices.push_back({rank++, host.text(), {}, {}, host.where().line});
        }
      }
    }
    Run& run = builder.log.runs[by_number[number]];
    if (record.wrong.value_or(0) > 0)
      run.wrong.push_back({record.line, fmt::format("{} B: {:g} wrong values",
                                                    record.size.value_or(0), *record.wrong)});
    run.records.push_back(std::move(record));
  }
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
      record.time = own_number(*figures, "p50");
      record.line = figures->where().line;
      run.records.push_back(std::move(record));
    }
  }
  return true;
}

}  // namespace muster::bench
