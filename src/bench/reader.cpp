#include "bench/reader.h"
#include "base/words.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace muster::bench {

bool is_setting(std::string_view name) {
  constexpr std::array<std::string_view, 8> kPrefixes = {"NCCL_",    "RCCL_", "FI_",       "OFI_",
                                                         "NVSHMEM_", "UCX_",  "OMPI_MCA_", "UCCL_"};
  // These change what is said or where processes meet, not what is measured.
  constexpr std::array<std::string_view, 8> kSilent = {
      "NCCL_DEBUG",     "NCCL_TESTS_MIN_BW", "NCCL_COMM_ID",  "NCCL_SOCKET_IFNAME",
      "NCCL_CONF_FILE", "NVSHMEM_DEBUG",     "UCX_LOG_LEVEL", "UCX_WARN_UNUSED_ENV_VARS"};
  const auto starts = [name](std::string_view prefix) { return name.starts_with(prefix); };
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), starts) &&
         std::none_of(kSilent.begin(), kSilent.end(), starts);
}

Run& LogBuilder::open(const std::string& tool, const LogLine& line) {
  Run run;
  run.tool = tool;
  run.line = line.number;
  run.stream = line.source;
  run.settings = settings_;
  run.broken = std::move(early_);
  early_.clear();
  settings_used_ = true;
  log.runs.push_back(std::move(run));
  return log.runs.back();
}

void LogBuilder::set(const std::string& name, const std::string& value) {
  if (!is_setting(name)) return;
  const bool rows = !log.runs.empty() && !log.runs.back().records.empty();
  if (settings_used_ && rows) {  // a new command
    settings_.clear();
    settings_used_ = false;
  }
  settings_[name] = value;
  if (rows) return;
  for (Run& run : log.runs) {
    if (run.records.empty() && !run.ended) run.settings[name] = value;
  }
}

void LogBuilder::unread(const LogLine& line, const std::string& what) {
  constexpr std::size_t kMost = 100;
  if (log.findings.size() >= kMost) return;
  log.findings.push_back(warning_at({log.file, line.number, 1}, "bench-unread", what));
}

void LogBuilder::broke(const LogLine& line) {
  constexpr std::size_t kMost = 20;
  auto& remarks = log.runs.empty() ? early_ : log.runs.back().broken;
  if (remarks.size() < kMost) remarks.push_back({line.number, std::string(trimmed(line.text))});
}

std::string operation_name(std::string_view name) {
  std::string plain = lower_case(name);
  if (const auto end = plain.rfind("_perf"); end != std::string::npos) plain.resize(end);
  std::string letters;
  for (const char c : plain) {
    if (c != '_' && c != '-' && c != ' ') letters += c;
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kNames = {
      {{"allreduce", "all_reduce"},
       {"allr", "all_reduce"},
       {"allgather", "all_gather"},
       {"allg", "all_gather"},
       {"fcollect", "all_gather"},
       {"reducescatter", "reduce_scatter"},
       {"redsct", "reduce_scatter"},
       {"alltoall", "alltoall"},
       {"alltoallv", "alltoallv"},
       {"broadcast", "broadcast"},
       {"bcast", "broadcast"},
       {"reduction", "all_reduce"},
       {"sendrecv", "sendrecv"},
       {"gather", "gather"},
       {"scatter", "scatter"},
       {"reduce", "reduce"},
       {"hypercube", "hypercube"},
       {"barrier", "barrier"}}};
  for (const auto& [known, ours] : kNames) {
    if (letters == known) return std::string(ours);
  }
  return plain;
}

std::string nccl_version(std::string_view text) {
  const auto number = whole(text);
  if (!number || *number < 10000) return std::string(text);
  return fmt::format("{}.{}.{}", *number / 10000, *number / 100 % 100, *number % 100);
}

std::string type_name(std::string_view name) {
  std::string plain = lower_case(name);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kNames = {
      {{"fp32", "float"},
       {"float32", "float"},
       {"fp16", "half"},
       {"float16", "half"},
       {"fp64", "double"},
       {"float64", "double"},
       {"bf16", "bfloat16"},
       {"fp8_e4m3", "f8e4m3"},
       {"fp8_e5m2", "f8e5m2"},
       {"float8_e4m3fn", "f8e4m3"},
       {"float8_e5m2", "f8e5m2"}}};
  for (const auto& [known, ours] : kNames) {
    if (plain == known) return std::string(ours);
  }
  return plain;
}

}  // namespace muster::bench
