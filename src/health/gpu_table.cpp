// GPUs as nvidia-smi lists them: the CSV of a query, and names alone.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/words.h"
#include "health/gpu_judge.h"

namespace muster::health {
namespace {

/// Cells of a line of CSV as nvidia-smi writes it: split at ", ".
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.emplace_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

/// The path in the tree of -q that a column of --query-gpu names; empty: not judged.
std::string path_of_column(std::string column) {
  column = column.substr(0, column.find(" ["));  // the unit
  static const std::map<std::string, std::string> kPaths = {
      {"name", "product_name"},
      {"gpu_name", "product_name"},
      {"persistence_mode", "persistence_mode"},
      {"pstate", "performance_state"},
      {"ecc.mode.current", "ecc_mode/current_ecc"},
      {"ecc.errors.corrected.volatile.total", "ecc_errors/volatile/single_bit/total"},
      {"ecc.errors.uncorrected.volatile.total", "ecc_errors/volatile/double_bit/total"},
      {"ecc.errors.uncorrected.volatile.dram", "ecc_errors/volatile/dram_uncorrectable"},
      {"ecc.errors.uncorrected.volatile.sram", "ecc_errors/volatile/sram_uncorrectable"},
      {"ecc.errors.corrected.volatile.dram", "ecc_errors/volatile/dram_correctable"},
      {"ecc.errors.corrected.volatile.sram", "ecc_errors/volatile/sram_correctable"},
      {"retired_pages.single_bit_ecc.count", "retired_pages/multiple_single_bit_retirement"},
      {"retired_pages.sbe", "retired_pages/multiple_single_bit_retirement"},
      {"retired_pages.double_bit.count", "retired_pages/double_bit_retirement"},
      {"retired_pages.dbe", "retired_pages/double_bit_retirement"},
      {"retired_pages.pending", "retired_pages/pending_retirement"},
      {"remapped_rows.uncorrectable", "remapped_rows/remapped_row_unc"},
      {"remapped_rows.correctable", "remapped_rows/remapped_row_corr"},
      {"remapped_rows.pending", "remapped_rows/remapped_row_pending"},
      {"remapped_rows.failure", "remapped_rows/remapped_row_failure"},
      {"pcie.link.width.current", "pci/pci_gpu_link_info/link_widths/current_link_width"},
      {"pcie.link.width.max", "pci/pci_gpu_link_info/link_widths/max_link_width"},
      {"pcie.link.gen.current", "pci/pci_gpu_link_info/pcie_gen/current_link_gen"},
      {"pcie.link.gen.gpucurrent", "pci/pci_gpu_link_info/pcie_gen/current_link_gen"},
      {"pcie.link.gen.max", "pci/pci_gpu_link_info/pcie_gen/max_link_gen"},
      {"pcie.link.gen.gpumax", "pci/pci_gpu_link_info/pcie_gen/max_link_gen"},
      {"temperature.gpu", "temperature/gpu_temp"},
      {"clocks_throttle_reasons.hw_slowdown", "clocks_event_reasons/hw_slowdown"},
      {"clocks_throttle_reasons.hw_thermal_slowdown", "clocks_event_reasons/hw_thermal_slowdown"},
      {"clocks_throttle_reasons.hw_power_brake_slowdown",
       "clocks_event_reasons/hw_power_brake_slowdown"},
      {"clocks_throttle_reasons.sw_thermal_slowdown", "clocks_event_reasons/sw_thermal_slowdown"},
      {"clocks_event_reasons.hw_slowdown", "clocks_event_reasons/hw_slowdown"},
      {"clocks_event_reasons.hw_thermal_slowdown", "clocks_event_reasons/hw_thermal_slowdown"},
      {"clocks_event_reasons.hw_power_brake_slowdown",
       "clocks_event_reasons/hw_power_brake_slowdown"},
      {"clocks_event_reasons.sw_thermal_slowdown", "clocks_event_reasons/sw_thermal_slowdown"},
      {"fabric.state", "fabric/state"},
      {"fabric.status", "fabric/status"},
      {"gpu_recovery_action", "gpu_recovery_action"},
  };
  const auto path = kPaths.find(column);
  return path == kPaths.end() ? std::string() : path->second;
}

void put(SmiNode& tree, std::string_view path, const std::string& value, int line) {
  SmiNode* node = &tree;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    auto child = std::find_if(node->children.begin(), node->children.end(),
                              [&](const SmiNode& one) { return one.name == name; });
    if (child == node->children.end()) {
      node->children.push_back({name, {}, line, {}});
      child = node->children.end() - 1;
    }
    node = &*child;
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  node->value = value;
}

}  // namespace

bool read_gpu_csv(const Text& text, const std::vector<Line>& stream, const Host& host,
                  CheckResult& check) {
  std::vector<std::string> titles;
  std::size_t gpus = 0;
  int first = 0;
  for (const Line& line : stream) {
    const auto cells = cells_of(line.text);
    if (titles.empty()) {
      const bool known = std::any_of(cells.begin(), cells.end(), [](const std::string& cell) {
        return !path_of_column(cell).empty() || cell == "pci.bus_id" || cell == "uuid";
      });
      if (cells.size() > 1 && known) {
        titles = cells;
        first = line.number;
      }
      continue;
    }
    if (trimmed(line.text).empty()) continue;
    if (cells.size() != titles.size()) {
      check.add(Health::kUnknown, "gpu-form", line.source,
                fmt::format("{} cells under {} titles", cells.size(), titles.size()),
                {text.file, line.number, 0});
      continue;
    }
    SmiGpu gpu;
    gpu.source = line.source;
    gpu.tree.line = line.number;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (titles[i] == "pci.bus_id" || titles[i] == "gpu_bus_id") gpu.name = cells[i];
      if (gpu.name.empty() && (titles[i] == "uuid" || titles[i] == "gpu_uuid")) gpu.name = cells[i];
      if (const std::string path = path_of_column(titles[i]); !path.empty())
        put(gpu.tree, path, cells[i], line.number);
    }
    judge_gpu(gpu, static_cast<int>(gpus++), text, host, check);
  }
  if (titles.empty()) return false;
  judge_gpu_count(gpus, text, first, host, stream.empty() ? "" : stream.front().source, check);
  return true;
}

bool read_gpu_list(const Text& text, const std::vector<Line>& stream, const Host& host,
                   CheckResult& check) {
  std::size_t gpus = 0;
  int first = 0;
  for (const Line& line : stream) {
    if (!line.text.starts_with("GPU ") || line.text.find("(UUID: GPU-") == std::string::npos)
      continue;
    if (gpus++ == 0) first = line.number;
  }
  if (gpus == 0) return false;
  judge_gpu_count(gpus, text, first, host, stream.front().source, check);
  check.add(Health::kUnknown, "gpu-evidence", stream.front().source,
            fmt::format("{} GPUs are listed, nothing is told of their state", gpus),
            {text.file, first, 0});
  return true;
}

}  // namespace muster::health
