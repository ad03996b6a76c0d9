#include "health/smi.h"

#include <algorithm>

#include <pugixml.hpp>

#include "base/words.h"

namespace muster::health {
namespace {

/// "Remapped Rows" -> remapped_rows; "GPU T.Limit Temp" -> gpu_t_limit_temp.
std::string key_of(std::string_view title) {
  std::string key;
  for (const char c : lower_case(title)) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (word)
      key += c;
    else if (!key.empty() && key.back() != '_')
      key += '_';
  }
  while (key.ends_with('_')) key.pop_back();
  return key;
}

/// The names that text and XML do not share, as the XML has them.
std::string renamed(const std::string& parent, const std::string& key) {
  struct Other {
    const char *parent, *text, *xml;
  };
  static constexpr Other kOthers[] = {
      {"remapped_rows", "correctable_error", "remapped_row_corr"},
      {"remapped_rows", "uncorrectable_error", "remapped_row_unc"},
      {"remapped_rows", "pending", "remapped_row_pending"},
      {"remapped_rows", "remapping_failure_occurred", "remapped_row_failure"},
      {"ecc_mode", "current", "current_ecc"},
      {"ecc_mode", "pending", "pending_ecc"},
      {"mig_mode", "current", "current_mig"},
      {"pci", "gpu_link_info", "pci_gpu_link_info"},
      {"pci", "replays_since_reset", "replay_counter"},
      {"pcie_gen", "max", "max_link_gen"},
      {"pcie_gen", "current", "current_link_gen"},
      {"pcie_gen", "device_max", "max_device_link_gen"},
      {"pcie_gen", "host_max", "max_host_link_gen"},
      {"link_widths", "max", "max_link_width"},
      {"link_widths", "current", "current_link_width"},
      {"retired_pages", "single_bit_ecc", "multiple_single_bit_retirement"},
      {"retired_pages", "double_bit_ecc", "double_bit_retirement"},
      {"retired_pages", "pending_page_blacklist", "pending_retirement"},
      {"retired_pages", "pending_page_retirement", "pending_retirement"},
      {"temperature", "gpu_current_temp", "gpu_temp"},
      {"temperature", "gpu_slowdown_temp", "gpu_temp_slow_threshold"},
      {"temperature", "gpu_shutdown_temp", "gpu_temp_max_threshold"},
      {"aggregate", "sram_threshold_exceeded", "sram_threshold_exceeded"},
  };
  for (const Other& other : kOthers) {
    if (parent == other.parent && key == other.text) return other.xml;
  }
  if (key == "pcie_generation") return "pcie_gen";
  if (key == "link_width") return "link_widths";
  return key;
}

int line_of(const pugi::xml_node& node, const std::string& text, int first_line) {
  const auto offset = std::min(static_cast<std::size_t>(node.offset_debug()), text.size());
  return first_line + static_cast<int>(std::count(
                          text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

void read_xml(const pugi::xml_node& from, const std::string& text, int first_line, SmiNode& to) {
  for (const pugi::xml_node& child : from.children()) {
    if (child.type() != pugi::node_element) continue;
    SmiNode node;
    node.name = child.name();
    node.value = trimmed(child.child_value());
    node.line = line_of(child, text, first_line);
    read_xml(child, text, first_line, node);
    to.children.push_back(std::move(node));
  }
}

SmiLog parse_xml(const std::string& text, int first_line, const std::string& source) {
  SmiLog log;
  log.line = first_line;
  pugi::xml_document document;
  const auto parsed = document.load_buffer(text.data(), text.size());
  log.whole = parsed.status == pugi::status_ok;
  const pugi::xml_node root = document.child("nvidia_smi_log");
  if (const auto count = whole(trimmed(root.child_value("attached_gpus"))))
    log.attached = static_cast<int>(*count);
  for (const pugi::xml_node& child : root.children("gpu")) {
    SmiGpu gpu;
    gpu.name = child.attribute("id").value();
    gpu.source = source;
    gpu.tree.line = line_of(child, text, first_line);
    read_xml(child, text, first_line, gpu.tree);
    log.gpus.push_back(std::move(gpu));
  }
  return log;
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// The text form: "    Key     : Value", groups without a value, depth by indentation.
class TextParser {
 public:
  std::vector<SmiLog> logs;

  void take(const Line& line) {
    const std::string_view text = line.text;
    const std::string_view bare = trimmed(text);
    if (bare.empty()) return;
    if (bare.find("NVSMI LOG") != std::string_view::npos) {
      logs.emplace_back();
      logs.back().line = line.number;
      open_ = true;
      return;
    }
    if (!open_) return;
    if (text.starts_with("GPU ") && text.find(':') != std::string_view::npos &&
        text.find(" : ") == std::string_view::npos) {
      SmiGpu gpu;
      gpu.name = trimmed(text.substr(4));
      gpu.source = line.source;
      gpu.tree.line = line.number;
      logs.back().gpus.push_back(std::move(gpu));
      stack_ = {{0, &logs.back().gpus.back().tree}};
      return;
    }
    const std::size_t colon = find_colon(text);
    const std::string key(trimmed(text.substr(0, colon)));
    const std::string value(colon == std::string_view::npos ? std::string_view()
                                                            : trimmed(text.substr(colon + 1)));
    if (logs.back().gpus.empty()) {
      if (key == "Attached GPUs") {
        if (const auto count = whole(value)) logs.back().attached = static_cast<int>(*count);
      }
      return;
    }
    const std::size_t indent = indent_of(text);
    while (stack_.size() > 1 && stack_.back().indent >= indent) stack_.pop_back();
    SmiNode& parent = *stack_.back().node;
    SmiNode node;
    node.name = renamed(parent.name, key_of(key));
    node.value = value;
    node.line = line.number;
    // Children are only ever added to the last of a list, so that the pointers of the stack hold.
    parent.children.push_back(std::move(node));
    stack_.push_back({indent, &parent.children.back()});
  }

 private:
  struct Open {
    std::size_t indent;
    SmiNode* node;
  };

  static std::size_t find_colon(std::string_view text) {
    const std::size_t spaced = text.find(" : ");
    if (spaced != std::string_view::npos) return spaced + 1;
    return text.ends_with(" :") ? text.size() - 1 : std::string_view::npos;
  }

  bool open_ = false;
  std::vector<Open> stack_;
};

}  // namespace

const SmiNode* SmiNode::find(std::string_view path) const {
  const SmiNode* node = this;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    const auto child = std::find_if(node->children.begin(), node->children.end(),
                                    [&](const SmiNode& one) { return one.name == name; });
    if (child == node->children.end()) return nullptr;
    node = &*child;
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return node;
}

std::vector<SmiLog> parse_smi(const std::vector<Line>& stream) {
  std::vector<SmiLog> logs;
  std::string xml, source;
  int xml_line = 0;
  TextParser text;
  for (const Line& line : stream) {
    if (xml.empty() && line.text.find("<nvidia_smi_log") != std::string::npos) {
      xml_line = line.number;
      source = line.source;
      xml = line.text.substr(line.text.find("<nvidia_smi_log")) + "\n";
    } else if (!xml.empty()) {
      xml += line.text + "\n";
    } else {
      text.take(line);
      continue;
    }
    if (line.text.find("</nvidia_smi_log>") != std::string::npos) {
      logs.push_back(parse_xml(xml, xml_line, source));
      xml.clear();
    }
  }
  if (!xml.empty()) {
    logs.push_back(parse_xml(xml, xml_line, source));
    logs.back().whole = false;
  }
  for (SmiLog& log : text.logs) logs.push_back(std::move(log));
  return logs;
}

}  // namespace muster::health
