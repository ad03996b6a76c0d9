#include "health/nvml_text.h"

#include <fmt/format.h>

namespace muster::health {
namespace {

class SmiWriter {
 public:
  void open(const std::string& name) { line("<" + name + ">"), ++depth_; }
  void close(const std::string& name) { --depth_, line("</" + name + ">"); }
  void tell(const char* name, const std::string& value) {
    line(fmt::format("<{0}>{1}</{0}>", name, escaped(value)));
  }
  void tell(const char* name, const NvmlGpu::Count& value, const char* unit = "") {
    if (value) tell(name, fmt::format("{}{}", *value, unit));
  }
  void choose(const char* name, const NvmlGpu::Count& value, const char* yes, const char* no) {
    if (value) tell(name, std::string(*value != 0 ? yes : no));
  }
  void line(const std::string& text) {
    text_.append(depth_, '\t');
    text_ += text + "\n";
  }
  std::string take() { return std::move(text_); }

  static std::string escaped(const std::string& text) {
    std::string out;
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
        default:
          // The driver's texts are ASCII; what is not would be no document.
          out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?'
                                                                                              : c;
      }
    }
    return out;
  }

 private:
  std::string text_;
  std::size_t depth_ = 0;
};

/// The words by which nvidia-smi tells the same.
std::string failure_words(const NvmlGpu& gpu) {
  if (gpu.lost) return "GPU is lost";
  if (gpu.reset_required) return "GPU requires reset";
  return fmt::format("Unknown Error ({})", gpu.error);
}

void write_clocks(SmiWriter& to, const NvmlGpu& gpu) {
  if (!gpu.clock_reasons) return;
  constexpr std::pair<unsigned, const char*> kReasons[] = {
      {3, "hw_slowdown"},
      {5, "sw_thermal_slowdown"},
      {6, "hw_thermal_slowdown"},
      {7, "hw_power_brake_slowdown"},
  };
  to.open("clocks_event_reasons");
  for (const auto& [bit, name] : kReasons) {
    to.tell(fmt::format("clocks_event_reason_{}", name).c_str(),
            std::string((*gpu.clock_reasons >> bit & 1U) != 0 ? "Active" : "Not Active"));
  }
  to.close("clocks_event_reasons");
}

void write_memory(SmiWriter& to, const NvmlGpu& gpu) {
  if (gpu.ecc) {
    to.open("ecc_mode");
    to.choose("current_ecc", gpu.ecc, "Enabled", "Disabled");
    to.choose("pending_ecc", gpu.ecc_pending, "Enabled", "Disabled");
    to.close("ecc_mode");
  }
  if (gpu.ecc_corrected || gpu.ecc_uncorrected) {
    to.open("ecc_errors");
    to.open("volatile");
    to.tell("dram_correctable", gpu.ecc_corrected);
    to.tell("dram_uncorrectable", gpu.ecc_uncorrected);
    to.close("volatile");
    to.close("ecc_errors");
  }
  if (gpu.retired_single || gpu.retired_double || gpu.retired_pending) {
    to.open("retired_pages");
    to.open("multiple_single_bit_retirement");
    to.tell("retired_count", gpu.retired_single);
    to.close("multiple_single_bit_retirement");
    to.open("double_bit_retirement");
    to.tell("retired_count", gpu.retired_double);
    to.close("double_bit_retirement");
    to.choose("pending_retirement", gpu.retired_pending, "Yes", "No");
    to.close("retired_pages");
  }
  if (gpu.remap_failed || gpu.remap_pending) {
    to.open("remapped_rows");
    to.tell("remapped_row_corr", gpu.remapped_correctable);
    to.tell("remapped_row_unc", gpu.remapped_uncorrectable);
    to.choose("remapped_row_pending", gpu.remap_pending, "Yes", "No");
    to.choose("remapped_row_failure", gpu.remap_failed, "Yes", "No");
    to.close("remapped_rows");
  }
}

void write_gpu(SmiWriter& to, const NvmlGpu& gpu) {
  to.line(
      fmt::format("<gpu id=\"{}\">",
                  SmiWriter::escaped(gpu.bus_id.empty() ? std::to_string(gpu.index) : gpu.bus_id)));
  if (!gpu.name.empty()) to.tell("product_name", gpu.name);
  if (gpu.errors > 0) to.tell("nvml", failure_words(gpu));
  to.choose("persistence_mode", gpu.persistence_mode, "Enabled", "Disabled");
  to.open("pci");
  to.open("pci_gpu_link_info");
  to.open("pcie_gen");
  to.tell("max_link_gen", gpu.pcie_generation_max);
  to.tell("current_link_gen", gpu.pcie_generation);
  to.close("pcie_gen");
  to.open("link_widths");
  to.tell("max_link_width", gpu.pcie_width_max, "x");
  to.tell("current_link_width", gpu.pcie_width, "x");
  to.close("link_widths");
  to.close("pci_gpu_link_info");
  to.tell("replay_counter", gpu.pcie_replays);
  to.close("pci");
  write_clocks(to, gpu);
  write_memory(to, gpu);
  if (gpu.temperature) {
    to.open("temperature");
    to.tell("gpu_temp", gpu.temperature, " C");
    to.close("temperature");
  }
  if (gpu.fabric_state.value_or(0) > 0) {
    constexpr const char* kStates[] = {"N/A", "Not Started", "In Progress", "Completed"};
    to.open("fabric");
    to.tell("state", std::string(*gpu.fabric_state < 4 ? kStates[*gpu.fabric_state] : "N/A"));
    to.close("fabric");
  }
  to.line("</gpu>");
}

}  // namespace

std::string nvml_text(const NvmlReading& reading) {
  SmiWriter to;
  to.line("<?xml version=\"1.0\" ?>");
  to.open("nvidia_smi_log");
  to.tell("driver_version", reading.driver);
  to.tell("attached_gpus", std::to_string(reading.gpus.size()));
  for (const NvmlGpu& gpu : reading.gpus) write_gpu(to, gpu);
  to.close("nvidia_smi_log");
  return to.take();
}

}  // namespace muster::health
