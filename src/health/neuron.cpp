// Neuron devices: `neuron-ls` (JSON and table) and `neuron-monitor`.
#include <algorithm>

#include <fmt/format.h>

#include "base/document.h"
#include "base/words.h"
#include "health/json_text.h"
#include "health/readers.h"

namespace muster::health {
namespace {

class NeuronReader {
 public:
  NeuronReader(const Text& text, const Host& host, CheckResult& check)
      : text_(text), host_(host), check_(check) {}

  void read(const std::vector<Line>& stream) {
    for (const JsonText& json : json_texts(stream)) read_json(json);
    int table = 0, first = 0;
    for (const Line& line : stream) {
      // "| 0      | 2      | 32 GB  | 12, 3, 4, 1 | 0000:10:1c.0 |"
      static thread_local const Regex& row =
          pattern(R"(^\|\s*(\d+)\s*\|\s*(\d+)\s*\|\s*\d+ ?GB\s*\|)");
      Regex::Match match;
      if (finds(row, line.text, match)) {
        ++table;
        if (first == 0) first = line.number;
      }
      if (line.text.find("neuron-ls: command not found") != std::string::npos ||
          line.text.find("no neuron device found") != std::string::npos ||
          line.text.find("No neuron device found") != std::string::npos) {
        const auto expected = host_.accelerators("neuron");
        add(!expected        ? Health::kUnknown
            : *expected == 0 ? Health::kNotApplicable
                             : Health::kReplace,
            "neuron-count", std::string(trimmed(line.text)), line.number);
      }
    }
    if (table > 0) judge_count(table, first);
  }

 private:
  void add(Health health, const char* rule, const std::string& evidence, int line,
           const std::string& subject = {}) {
    check_.add(health, rule, subject, evidence, {text_.file, line, 0});
  }

  void judge_count(int devices, int line) {
    const auto expected = host_.accelerators("neuron");
    if (!expected) {
      add(Health::kOk, "neuron-count", fmt::format("{} Neuron devices", devices), line);
    } else {
      add(devices == *expected ? Health::kOk : Health::kReplace, "neuron-count",
          fmt::format("{} Neuron devices, {} has {}", devices, host_.instance->name, *expected),
          line);
    }
  }

  void read_json(const JsonText& json) {
    if (!json.whole) {
      add(Health::kError, "neuron-truncated", "the JSON breaks off", json.line);
      return;
    }
    const auto document = parse_json(json.text, text_.file);
    if (!document) {
      add(Health::kError, "neuron-json", "not JSON: " + document.findings().front().message,
          json.line);
      return;
    }
    if (document->is_sequence()) {
      const auto devices =
          std::count_if(document->items().begin(), document->items().end(), [](const Node& item) {
            return item.is_mapping() && item.find("neuron_device") != nullptr;
          });
      if (devices > 0) judge_count(static_cast<int>(devices), json.line);
      return;
    }
    int read = 0;
    see_counters(*document, json.line - 1, read);
    if (read > 0)
      add(Health::kOk, "neuron-counters", fmt::format("{} error counters read", read), json.line);
  }

  /// neuron-monitor's hardware counters, at whatever depth this version has them.
  void see_counters(const Node& node, int start, int& read) {
    for (const Node& item : node.items()) see_counters(item, start, read);
    if (!node.is_mapping()) return;
    const Node* device = node.find("neuron_device_index");
    for (const Node::Entry& entry : node.entries()) {
      const bool uncorrected = entry.key.find("ecc_uncorrected") != std::string::npos;
      const bool corrected = !uncorrected && entry.key.find("ecc_corrected") != std::string::npos;
      if (uncorrected || corrected) {
        const auto count = entry.value.as_int();
        const std::string who =
            device != nullptr ? fmt::format("Neuron device {}", device->text()) : std::string();
        ++read;
        if (!count) {
          add(Health::kUnknown, "neuron-counters", entry.key + " is no number",
              start + entry.where.line, who);
        } else if (*count > 0) {
          add(uncorrected ? Health::kInvestigate : Health::kFlag, "neuron-counters",
              fmt::format("{}: {}", entry.key, *count), start + entry.where.line, who);
        }
      } else {
        see_counters(entry.value, start, read);
      }
    }
  }

  const Text& text_;
  const Host& host_;
  CheckResult& check_;
};

}  // namespace

void read_neuron(const Text& text, const Host& host, CheckResult& check) {
  const std::size_t before = check.observations().size();
  for (const std::vector<Line>& stream : streams_of(text.content)) {
    NeuronReader(text, host, check).read(stream);
  }
  if (check.observations().size() == before) {
    check.add(Health::kUnknown, "neuron-empty", {},
              "nothing was understood as neuron-ls or neuron-monitor", {text.file, 0, 0});
  }
}

}  // namespace muster::health
