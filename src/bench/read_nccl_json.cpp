// nccl-tests' JSON (-J, schema version 3 and the one before a misspelt key was mended) and
// rccl-tests' (-Z json). Booleans may be texts, and NaN is one.
#include <cmath>

#include <fmt/format.h>

#include "base/schema.h"
#include "base/words.h"
#include "bench/reader.h"

namespace muster::bench {
namespace {

/// A number, also as a text; nothing for null, "nan", "N/A".
std::optional<double> json_number(const Node* node) {
  return node != nullptr && node->is_scalar() ? finite(trimmed(node->text())) : std::nullopt;
}

std::string json_text_of(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  return found != nullptr && found->is_scalar() ? std::string(trimmed(found->text()))
                                                : std::string();
}

std::optional<std::uint64_t> json_whole(const Node& node, std::string_view key) {
  const auto value = json_number(node.find(key));
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

/// One release spelt it "bandwidith".
const Node* bandwidth_of(const Node& node, const std::string& prefix) {
  const Node* right = node.find(prefix + "bandwidth");
  return right != nullptr ? right : node.find(prefix + "bandwidith");
}

void add_json_half(Run& run, const Node& row, const char* key, const char* placement) {
  const Node* half = row.find(key);
  if (half == nullptr || !half->is_mapping()) return;
  Record record;
  record.tool = run.tool;
  record.version = run.version;
  record.operation = run.operation;
  record.type = type_name(json_text_of(row, "type"));
  const std::string redop = json_text_of(row, "redop");
  record.reduction = redop == "none" ? "" : redop;
  record.placement = placement;
  if (const auto root = json_number(row.find("root"))) record.root = static_cast<int>(*root);
  record.size = json_whole(row, "size");
  record.count = json_whole(row, "count");
  const Node* time = half->find("time");
  record.time = json_number(time != nullptr ? time : half->find("cpu_time"));
  record.algbw = json_number(half->find("alg_bw"));
  record.busbw = json_number(half->find("bus_bw"));
  record.wrong = json_number(half->find("nwrong"));
  record.line = half->where().line;
  if (record.wrong.value_or(0) > 0)
    run.wrong.push_back(
        {record.line, fmt::format("{} B {}: {} wrong values", record.size.value_or(0), placement,
                                  *record.wrong)});
  run.records.push_back(std::move(record));
}

void read_json_environment(const Node& document, LogBuilder& builder) {
  const Node* environment = document.find("env");
  if (environment == nullptr || !environment->is_sequence()) return;
  for (const Node& entry : environment->items()) {
    const auto equals = entry.text().find('=');
    if (equals != std::string::npos)
      builder.set(entry.text().substr(0, equals), entry.text().substr(equals + 1));
  }
}

void read_json_devices(const Node& document, Run& run) {
  const Node* devices = document.find("devices");
  if (devices == nullptr || !devices->is_sequence()) return;
  for (const Node& entry : devices->items()) {
    Device device;
    device.rank = static_cast<int>(json_number(entry.find("rank")).value_or(0));
    device.host = json_text_of(entry, "hostname");
    device.pid = json_text_of(entry, "pid");
    device.name = json_text_of(entry, "device_info");
    device.line = entry.where().line;
    run.devices.push_back(std::move(device));
  }
  if (!run.devices.empty()) run.ranks = static_cast<int>(run.devices.size());
}

/// Which transport carried muster-bench's collectives: "gloo: Gloo 0.5.0 over TCP (eth0), …".
void read_json_fabric(const Node& document, Run& run, Log& log) {
  const Node* fabric = document.find("fabric");
  if (fabric == nullptr) return;
  const std::string& text = fabric->text();
  const std::string name = text.substr(0, text.find(':'));
  if (!name.empty() && name != "mpi") run.settings["fabric"] = name;
  if (name == "gloo")
    log.transports.push_back({Transport::Kind::kSlow, "tcp", fabric->where().line, text, {}});
}

/// The program among the arguments: /opt/nccl-tests/build/all_reduce_perf.
std::string program_of(const Node& document) {
  const Node* arguments = document.find("args");
  if (arguments == nullptr || !arguments->is_sequence()) return {};
  for (const Node& argument : arguments->items()) {
    const std::string& text = argument.text();
    if (text.ends_with("_perf") || text.find("_perf_") != std::string::npos)
      return operation_name(text.substr(text.rfind('/') + 1));
  }
  return {};
}

}  // namespace

bool read_nccl_json(const Node& document, LogBuilder& builder) {
  const Node* results = document.is_mapping() ? document.find("results") : nullptr;
  const Node* average = document.is_mapping() ? bandwidth_of(document, "average_bus_") : nullptr;
  if (results == nullptr || !results->is_sequence()) return false;
  if (average == nullptr && document.find("out_of_bounds") == nullptr &&
      document.find("nccl_version") == nullptr) {
    return false;
  }
  read_json_environment(document, builder);
  Run& run = builder.open("nccl-tests", {{}, {}, document.where().line});
  run.version = json_text_of(document, "nccl_tests_version");
  run.has_summary = true;
  run.operation = program_of(document);
  read_json_fabric(document, run, builder.log);
  builder.log.nccl = nccl_version(json_text_of(document, "nccl_version"));
  read_json_devices(document, run);
  if (const Node* config = document.find("config")) {
    for (const auto& [key, usual] : {std::pair{"graph", "0"}, {"aggregated_iterations", "1"}}) {
      const std::string value = json_text_of(*config, key);
      if (!value.empty() && value != usual && value != "false") run.settings[key] = value;
    }
  }
  for (const Node& row : results->items()) {
    if (!row.is_mapping()) continue;
    add_json_half(run, row, "out_of_place", "out-of-place");
    add_json_half(run, row, "in_place", "in-place");
  }
  if (const Node* bounds = document.find("out_of_bounds")) {
    run.out_of_bounds = json_number(bounds->find("count"));
    const std::string okay = json_text_of(*bounds, "okay");
    if (okay == "false" || run.out_of_bounds.value_or(0) > 0)
      run.wrong.push_back({bounds->where().line,
                           fmt::format("out of bounds values: {}", run.out_of_bounds.value_or(0))});
    run.ended = run.out_of_bounds.has_value();
  }
  if (average != nullptr && average->is_mapping())
    run.average_busbw = json_number(bandwidth_of(*average, ""));
  if (const Node* errors = document.find("errors"); errors != nullptr && errors->is_sequence()) {
    for (const Node& error : errors->items())
      run.broken.push_back({error.where().line, error.text()});
  }
  return true;
}

bool read_rccl_json(const Node& document, LogBuilder& builder) {
  if (!document.is_sequence() || document.items().empty()) return false;
  for (const Node& row : document.items()) {
    if (!row.is_mapping() || row.find("busBw") == nullptr || row.find("inPlace") == nullptr)
      return false;
  }
  Run* run = nullptr;
  for (const Node& row : document.items()) {
    Record record;
    record.operation = operation_name(json_text_of(row, "name"));
    const auto ranks = json_number(row.find("ranks")), nodes = json_number(row.find("nodes"));
    if (ranks) record.ranks = static_cast<int>(*ranks);
    if (nodes) record.nodes = static_cast<int>(*nodes);
    if (run == nullptr || run->operation != record.operation || run->ranks != record.ranks) {
      run = &builder.open("rccl-tests", {{}, {}, row.where().line});
      run->operation = record.operation;
      run->ranks = record.ranks;
      run->nodes = record.nodes;
      run->ended = true;
    }
    record.tool = run->tool;
    record.type = type_name(json_text_of(row, "type"));
    const std::string redop = json_text_of(row, "redop");
    record.reduction = redop == "none" ? "" : redop;
    const std::string in_place = json_text_of(row, "inPlace");
    record.placement = in_place == "1" || in_place == "true" ? "in-place" : "out-of-place";
    record.size = json_whole(row, "size");
    record.time = json_number(row.find("time"));
    record.algbw = json_number(row.find("algBw"));
    record.busbw = json_number(row.find("busBw"));
    record.wrong = json_number(row.find("wrong"));
    record.line = row.where().line;
    if (record.wrong.value_or(0) > 0)
      run->wrong.push_back(
          {record.line, fmt::format("{} B {}: {} wrong values", record.size.value_or(0),
                                    record.placement, *record.wrong)});
    run->records.push_back(std::move(record));
  }
  return true;
}

}  // namespace muster::bench
