// The state of GPUs as nvidia-smi tells it.
#include <algorithm>

#include <fmt/format.h>

#include "base/words.h"
#include "health/gpu_judge.h"
#include "health/readers.h"

namespace muster::health {
namespace {

/// What a GPU says instead of a value when it is not well.
std::optional<Health> broken_value(std::string_view value) {
  const std::string text = lower_case(value);
  if (text.find("gpu is lost") != std::string::npos) return Health::kReboot;
  if (text.find("requires reset") != std::string::npos) return Health::kReset;
  if (text.find("unknown error") != std::string::npos || text == "err!" || text == "[err!]" ||
      text.find("insufficient power") != std::string::npos) {
    return Health::kInvestigate;
  }
  return std::nullopt;
}

bool not_supported(std::string_view value) {
  return value.empty() || value == "N/A" || value == "[N/A]" || value == "[Not Supported]" ||
         value == "Not Supported" || value == "Requested functionality has been deprecated";
}

/// The number that a value starts with: "4", "23 %", "-1 C".
std::optional<double> number_of(std::string_view value) {
  const auto words = words_of(value);
  return words.empty()
             ? std::nullopt
             : finite(words[0].ends_with('x') ? words[0].substr(0, words[0].size() - 1) : words[0]);
}

/// What is looked at in one GPU, whichever output told it. Text of values as printed.
class Gpu {
 public:
  Gpu(std::string name, const Text& text, const Host& host, CheckResult& check)
      : name_(std::move(name)), text_(text), host_(host), check_(check) {}

  void tell(Health health, const char* rule, const std::string& evidence, int line) {
    worst_ = std::max(worst_, health);
    check_.add(health, rule, name_, evidence, {text_.file, line, 0});
  }

  /// A counter: what it means when it is not zero. Returns its value; nothing when the GPU has no
  /// such counter or does not answer.
  std::optional<double> counter(const std::string& value, const std::string& what, int line) {
    if (not_supported(value)) return std::nullopt;
    if (const auto broken = broken_value(value)) {
      tell(*broken, "gpu-query", what + " can't be read: " + value, line);
      return std::nullopt;
    }
    const auto number = number_of(value);
    if (!number) {
      tell(Health::kUnknown, "gpu-form", what + " is not understood: " + value, line);
      return std::nullopt;
    }
    ++counters_;
    return number;
  }

  /// For counters that have to be zero.
  void zero(const std::string& value, const std::string& what, Health otherwise, int line) {
    const auto count = counter(value, what, line);
    if (count && *count > 0)
      tell(otherwise, "gpu-ecc", fmt::format("{}: {:g}", what, *count), line);
  }

  /// Yes or No.
  void answer(const std::string& value, const std::string& what, Health yes, int line) {
    if (not_supported(value)) return;
    const std::string text = lower_case(value);
    if (const auto broken = broken_value(value)) {
      tell(*broken, "gpu-query", what + " can't be read: " + value, line);
    } else if (text == "yes" || text == "active" || text == "1") {
      tell(yes, "gpu-ecc", what, line);
    } else if (text == "no" || text == "not active" || text == "inactive" || text == "0") {
      ++counters_;
    } else {
      tell(Health::kUnknown, "gpu-form", what + " is not understood: " + value, line);
    }
  }

  const facts::Thresholds& limits() const { return *host_.thresholds; }
  std::size_t counters() const { return counters_; }
  Health worst() const { return worst_; }

 private:
  std::string name_;
  const Text& text_;
  const Host& host_;
  CheckResult& check_;
  std::size_t counters_ = 0;
  Health worst_ = Health::kOk;
};

struct Value {
  std::string text;
  int line = 0;
};

/// A value of the tree; empty when it is not told.
Value at(const SmiNode& tree, std::initializer_list<const char*> paths) {
  for (const char* path : paths) {
    if (const SmiNode* node = tree.find(path)) return {node->value, node->line};
  }
  return {};
}

void judge_memory(Gpu& gpu, const SmiNode& tree) {
  const auto zero = [&](std::initializer_list<const char*> paths, const char* what, Health health) {
    const Value value = at(tree, paths);
    gpu.zero(value.text, what, health, value.line);
  };
  zero({"ecc_errors/volatile/dram_uncorrectable", "ecc_errors/volatile/double_bit/total"},
       "uncorrected memory errors since the driver started", Health::kReset);
  zero({"ecc_errors/volatile/sram_uncorrectable", "ecc_errors/volatile/sram_uncorrectable_parity"},
       "uncorrected SRAM errors since the driver started", Health::kReset);
  zero({"ecc_errors/volatile/sram_uncorrectable_secded"},
       "uncorrected SRAM errors (SEC-DED) since the driver started", Health::kReset);
  for (const auto& [path, what] :
       {std::pair{"ecc_errors/volatile/dram_correctable", "corrected memory errors"},
        std::pair{"ecc_errors/volatile/sram_correctable", "corrected SRAM errors"},
        std::pair{"ecc_errors/volatile/single_bit/total", "corrected errors"}}) {
    const Value value = at(tree, {path});
    const auto count = gpu.counter(value.text, what, value.line);
    if (count && *count >= gpu.limits().at("corrected-errors"))
      gpu.tell(Health::kFlag, "gpu-ecc", fmt::format("{}: {:g}", what, *count), value.line);
  }
  const Value sram = at(tree, {"ecc_errors/aggregate/sram_threshold_exceeded"});
  gpu.answer(sram.text, "the SRAM error threshold is exceeded", Health::kReplace, sram.line);

  zero({"retired_pages/double_bit_retirement/retired_count", "retired_pages/double_bit_retirement"},
       "pages retired after double-bit errors", Health::kReplace);
  const Value single = at(tree, {"retired_pages/multiple_single_bit_retirement/retired_count",
                                 "retired_pages/multiple_single_bit_retirement"});
  const auto pages = gpu.counter(single.text, "retired pages", single.line);
  if (pages && *pages > gpu.limits().at("retired-pages")) {
    gpu.tell(Health::kFlag, "gpu-retired-pages",
             fmt::format("{:g} pages retired after single-bit errors", *pages), single.line);
  }
  const Value pending = at(tree, {"retired_pages/pending_retirement"});
  gpu.answer(pending.text, "a page retirement is pending", Health::kReboot, pending.line);

  const Value failure = at(tree, {"remapped_rows/remapped_row_failure"});
  gpu.answer(failure.text, "a row could not be remapped", Health::kReplace, failure.line);
  const Value waits = at(tree, {"remapped_rows/remapped_row_pending"});
  gpu.answer(waits.text, "a row waits to be remapped", Health::kReset, waits.line);
  const Value rows = at(tree, {"remapped_rows/remapped_row_unc"});
  const auto remapped = gpu.counter(rows.text, "remapped rows", rows.line);
  if (remapped && *remapped > 0) {
    const double most = gpu.limits().at("remapped-rows");
    gpu.tell(*remapped >= most ? Health::kReplace : Health::kFlag, "gpu-remapped-rows",
             fmt::format("{:g} of {:g} rows remapped after uncorrected errors", *remapped, most),
             rows.line);
  }
}

void judge_link(Gpu& gpu, const SmiNode& tree) {
  const auto both = [&](const char* current_path, const char* most_path) {
    return std::pair{at(tree, {current_path}), at(tree, {most_path})};
  };
  const auto [width, most] = both("pci/pci_gpu_link_info/link_widths/current_link_width",
                                  "pci/pci_gpu_link_info/link_widths/max_link_width");
  const auto lanes = gpu.counter(width.text, "PCIe width", width.line);
  const auto all = gpu.counter(most.text, "largest PCIe width", most.line);
  if (lanes && all && *lanes < *all) {
    gpu.tell(Health::kInvestigate, "gpu-pcie",
             fmt::format("PCIe has {:g} of {:g} lanes", *lanes, *all), width.line);
  }
  const auto [generation, best] = both("pci/pci_gpu_link_info/pcie_gen/current_link_gen",
                                       "pci/pci_gpu_link_info/pcie_gen/max_link_gen");
  const auto now = gpu.counter(generation.text, "PCIe generation", generation.line);
  const auto most_gen = gpu.counter(best.text, "largest PCIe generation", best.line);
  const std::string state = at(tree, {"performance_state"}).text;
  // An idle GPU lowers the generation to save power.
  if (now && most_gen && *now < *most_gen && state == "P0") {
    gpu.tell(Health::kInvestigate, "gpu-pcie",
             fmt::format("PCIe runs at generation {:g} of {:g} while busy", *now, *most_gen),
             generation.line);
  }
  const Value replays = at(tree, {"pci/replay_counter"});
  const auto count = gpu.counter(replays.text, "PCIe replays", replays.line);
  if (count && *count > gpu.limits().at("pcie-replays"))
    gpu.tell(Health::kFlag, "gpu-pcie", fmt::format("{:g} PCIe replays", *count), replays.line);
}

void judge_clocks(Gpu& gpu, const SmiNode& tree) {
  for (const char* group : {"clocks_event_reasons", "clocks_throttle_reasons"}) {
    const SmiNode* reasons = tree.find(group);
    if (reasons == nullptr) continue;
    // Text: "HW Slowdown" with its kinds below; XML: clocks_event_reason_hw_slowdown beside them.
    const auto told = [&](const SmiNode& node, const auto& self) -> void {
      for (const SmiNode& reason : node.children) {
        const auto ends = [&](const char* name) { return reason.name.ends_with(name); };
        if (lower_case(reason.value) == "active") {
          if (ends("hw_thermal_slowdown"))
            gpu.tell(Health::kInvestigate, "gpu-throttled", "slowed by its temperature (hardware)",
                     reason.line);
          else if (ends("hw_power_brake_slowdown"))
            gpu.tell(Health::kInvestigate, "gpu-throttled", "slowed by the power brake (hardware)",
                     reason.line);
          else if (ends("hw_slowdown"))
            gpu.tell(Health::kInvestigate, "gpu-throttled", "slowed by the hardware", reason.line);
          else if (ends("sw_thermal_slowdown"))
            gpu.tell(Health::kFlag, "gpu-throttled", "slowed by its temperature (driver)",
                     reason.line);
        }
        self(reason, self);
      }
    };
    told(*reasons, told);
  }
  const Value now = at(tree, {"temperature/gpu_temp"});
  const Value slow = at(tree, {"temperature/gpu_temp_slow_threshold"});
  const auto degrees = gpu.counter(now.text, "temperature", now.line);
  const auto limit = gpu.counter(slow.text, "temperature limit", slow.line);
  if (degrees && limit && *degrees >= *limit) {
    gpu.tell(Health::kInvestigate, "gpu-hot",
             fmt::format("{:g} C, at its limit of {:g} C", *degrees, *limit), now.line);
  }
}

void judge_state(Gpu& gpu, const SmiNode& tree) {
  const Value persistence = at(tree, {"persistence_mode"});
  if (persistence.text == "Disabled")
    gpu.tell(Health::kFlag, "gpu-persistence", "persistence mode is off", persistence.line);
  const Value ecc = at(tree, {"ecc_mode/current_ecc"});
  if (ecc.text == "Disabled") gpu.tell(Health::kFlag, "gpu-ecc-mode", "ECC is off", ecc.line);
  const Value action = at(tree, {"gpu_recovery_action"});
  if (!not_supported(action.text) && action.text != "None") {
    const Health health = action.text == "Reboot" ? Health::kReboot : Health::kReset;
    gpu.tell(health, "gpu-recovery", "the driver asks for: " + action.text, action.line);
  }
  const Value fabric = at(tree, {"fabric/state"});
  const Value status = at(tree, {"fabric/status"});
  if (fabric.text == "In Progress") {
    gpu.tell(Health::kReset, "gpu-fabric",
             "Fabric Manager has not brought the NVLink fabric up (In Progress)", fabric.line);
  } else if (fabric.text == "Completed" && !not_supported(status.text) &&
             status.text != "Success") {
    gpu.tell(Health::kReset, "gpu-fabric", "the NVLink fabric came up with: " + status.text,
             status.line);
  }
}

/// Every value that says that the GPU did not answer.
void judge_answers(Gpu& gpu, const SmiNode& node, const std::string& path) {
  for (const SmiNode& child : node.children) {
    const std::string here = path.empty() ? child.name : path + "/" + child.name;
    // Those that are counters are told by name already.
    const bool counted = here.starts_with("ecc_errors") || here.starts_with("retired_pages") ||
                         here.starts_with("remapped_rows") || here.starts_with("pci/");
    if (const auto broken = broken_value(child.value); broken && !counted)
      gpu.tell(*broken, "gpu-query", here + ": " + child.value, child.line);
    judge_answers(gpu, child, here);
  }
}

struct Complaint {
  const char* words;
  Health health;
};

/// nvidia-smi's own failures.
constexpr Complaint kComplaints[] = {
    {"NVIDIA-SMI has failed", Health::kReboot},
    {"Driver/library version mismatch", Health::kReboot},
    {"Failed to initialize NVML", Health::kReboot},
    {"Unable to determine the device handle", Health::kReboot},
    {"GPU is lost", Health::kReboot},
    {"couldn't communicate with the NVIDIA driver", Health::kReboot},
};

bool read_complaints(const Text& text, const std::vector<Line>& stream, const Host& host,
                     CheckResult& check) {
  bool any = false;
  for (const Line& line : stream) {
    for (const Complaint& complaint : kComplaints) {
      if (line.text.find(complaint.words) == std::string::npos) continue;
      check.add(complaint.health, "gpu-driver", line.source, std::string(trimmed(line.text)),
                {text.file, line.number, 0});
      any = true;
      break;
    }
    if (line.text.find("No devices were found") != std::string::npos) {
      any = true;
      const auto expected = host.accelerators("gpu");
      const Health health = !expected        ? Health::kUnknown
                            : *expected == 0 ? Health::kNotApplicable
                                             : Health::kReplace;
      check.add(health, "gpu-count", line.source, "nvidia-smi finds no GPU",
                {text.file, line.number, 0});
    }
    if (line.text.find("nvidia-smi: command not found") != std::string::npos ||
        line.text.find("nvidia-smi: not found") != std::string::npos) {
      any = true;
      const bool none = host.accelerators("gpu") == 0;
      check.add(none ? Health::kNotApplicable : Health::kUnknown, "gpu-tool", line.source,
                "nvidia-smi is not there", {text.file, line.number, 0});
    }
  }
  return any;
}

}  // namespace

void judge_gpu(const SmiGpu& one, int number, const Text& text, const Host& host,
               CheckResult& check) {
  const std::string product = at(one.tree, {"product_name"}).text;
  Gpu gpu(
      fmt::format("{}GPU {} ({})", one.source.empty() ? "" : one.source + " ", number, one.name),
      text, host, check);
  judge_state(gpu, one.tree);
  judge_memory(gpu, one.tree);
  judge_link(gpu, one.tree);
  judge_clocks(gpu, one.tree);
  judge_answers(gpu, one.tree, {});
  const bool data_center = at(one.tree, {"ecc_mode/current_ecc"}).text == "Enabled";
  if (data_center && one.tree.find("ecc_errors") == nullptr) {
    gpu.tell(Health::kUnknown, "gpu-evidence", "nothing is told of its memory errors",
             one.tree.line);
  }
  if (gpu.counters() == 0) {
    gpu.tell(Health::kUnknown, "gpu-evidence", "none of its counters is told", one.tree.line);
  } else if (gpu.worst() == Health::kOk) {
    gpu.tell(Health::kOk, "gpu",
             fmt::format("{}{} counters, none bad", product.empty() ? "" : product + ", ",
                         gpu.counters()),
             one.tree.line);
  }
}

void judge_gpu_count(std::size_t seen, const Text& text, int line, const Host& host,
                     const std::string& source, CheckResult& check) {
  const auto expected = host.accelerators("gpu");
  if (!expected) return;
  if (*expected != static_cast<int>(seen)) {
    check.add(Health::kReplace, "gpu-count", source,
              fmt::format("{} GPUs, {} has {}", seen, host.instance->name, *expected),
              {text.file, line, 0});
  } else {
    check.add(Health::kOk, "gpu-count", source,
              fmt::format("{} GPUs, as {} has", seen, host.instance->name), {text.file, line, 0});
  }
}

void read_gpu(const Text& text, const Host& host, CheckResult& check) {
  const std::size_t before = check.observations().size();
  for (const std::vector<Line>& stream : streams_of(text.content)) {
    const bool complained = read_complaints(text, stream, host, check);
    const auto logs = parse_smi(stream);
    for (const SmiLog& log : logs) {
      int number = 0;
      for (const SmiGpu& gpu : log.gpus) judge_gpu(gpu, number++, text, host, check);
      const std::string source = stream.front().source;
      if (!log.whole) {
        check.add(Health::kError, "gpu-truncated", source, "the output breaks off",
                  {text.file, log.line, 0});
      }
      if (log.attached && *log.attached != static_cast<int>(log.gpus.size())) {
        check.add(
            Health::kError, "gpu-truncated", source,
            fmt::format("{} GPUs are attached, {} are described", *log.attached, log.gpus.size()),
            {text.file, log.line, 0});
      }
      if (log.whole) judge_gpu_count(log.gpus.size(), text, log.line, host, source, check);
      if (log.whole && log.gpus.empty() && !host.accelerators("gpu")) {
        check.add(Health::kUnknown, "gpu-evidence", source, "no GPU is described",
                  {text.file, log.line, 0});
      }
    }
    if (logs.empty() && !read_gpu_csv(text, stream, host, check) && !complained)
      read_gpu_list(text, stream, host, check);
  }
  if (check.observations().size() == before) {
    check.add(Health::kUnknown, "gpu-empty", {}, "nothing was understood as nvidia-smi's output",
              {text.file, 0, 0});
  }
}

}  // namespace muster::health
