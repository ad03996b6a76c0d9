// A host's memory: /proc/meminfo, `free -h`.
#include <map>

#include <fmt/format.h>

#include "base/schema.h"
#include "base/words.h"
#include "health/look.h"
#include "health/readers.h"

namespace muster::health {
namespace {

constexpr double kKibi = 1024;
constexpr double kGibi = kKibi * kKibi * kKibi;

/// "2.0Ti", "503Gi", "12B" as free -h prints them.
std::optional<double> human_size(std::string_view word) {
  const std::size_t end = word.find_first_not_of("0123456789.");
  if (end == 0 || end == std::string_view::npos) return std::nullopt;
  const auto number = finite(word.substr(0, end));
  const std::string_view unit = word.substr(end);
  if (!number) return std::nullopt;
  double factor = 1;
  for (const char* known : {"B", "Ki", "Mi", "Gi", "Ti", "Pi"}) {
    if (unit == known) return *number * factor;
    factor *= kKibi;
  }
  return std::nullopt;
}

class MemoryReader {
 public:
  MemoryReader(const Text& text, const Host& host, CheckResult& check)
      : text_(text), host_(host), check_(check) {}

  void read(const std::vector<Line>& stream) {
    if (!stream.empty()) source_ = stream.front().source;
    for (const Line& line : stream) {
      see_meminfo(line);
      see_free(line);
    }
    finish();
  }
  bool seen() const { return seen_; }

 private:
  struct Value {
    double amount = 0;
    int line = 0;
  };

  void add(Health health, const char* rule, const std::string& evidence, int line) {
    check_.add(health, rule, source_, evidence, {text_.file, line, 0});
    seen_ = true;
  }

  void see_meminfo(const Line& line) {
    static thread_local const Regex& form = pattern(R"(^([A-Z]\w+(?:\(\w+\))?):\s+(\d+)( kB)?$)");
    Regex::Match match;
    if (!finds(form, trimmed(line.text), match)) return;
    const auto number = finite(group(match, 2));
    if (number)
      values_[std::string(group(match, 1))] = {*number * (match.groups[3] ? kKibi : 1),
                                               line.number};
  }

  void see_free(const Line& line) {
    const auto words = words_of(line.text);
    if (words.size() < 4 || (words[0] != "Mem:" && words[0] != "Swap:")) return;
    const auto total = human_size(words[1]);
    if (!total) {
      add(Health::kUnknown, "memory-unit",
          "free does not tell its unit: free -h does, and /proc/meminfo", line.number);
      return;
    }
    if (words[0] == "Mem:" && words.size() >= 7) {
      values_["MemTotal"] = {*total, line.number};
      if (const auto available = human_size(words[6]))
        values_["MemAvailable"] = {*available, line.number};
    } else if (words[0] == "Swap:") {
      const auto left = human_size(words[3]);
      if (!left) return;
      values_["SwapTotal"] = {*total, line.number};
      values_["SwapFree"] = {*left, line.number};
    }
  }

  const Value* find(const char* name) const {
    const auto value = values_.find(name);
    return value == values_.end() ? nullptr : &value->second;
  }

  void finish() {
    const Value* total = find("MemTotal");
    const Value* available = find("MemAvailable");
    if (total == nullptr && available == nullptr && find("SwapTotal") == nullptr) return;
    if (total == nullptr || total->amount <= 0) {
      add(Health::kUnknown, "memory-total", "the total is not told", 0);
      return;
    }
    judge_total(*total);
    judge_available(*total, available);
    judge_swap();
    judge_pages(*total);
  }

  void judge_total(const Value& total) {
    const std::string seen = fmt::format("{:.4g} GiB", total.amount / kGibi);
    const auto nominal =
        host_.instance ? host_.instance->memory_bytes : std::optional<std::int64_t>();
    if (!nominal) {
      add(Health::kOk, "memory-total", seen, total.line);
      return;
    }
    const auto whole = static_cast<double>(*nominal);
    const double least = whole * host_.thresholds->at("memory-installed") / 100;
    const std::string of =
        fmt::format("{} of {:.4g} GiB, which {} has", seen, whole / kGibi, host_.instance->name);
    if (total.amount < least)
      add(Health::kReplace, "memory-total", of, total.line);
    else if (total.amount > whole)
      add(Health::kFlag, "memory-total", of + ": is it another type?", total.line);
    else
      add(Health::kOk, "memory-total", of, total.line);
  }

  void judge_available(const Value& total, const Value* available) {
    if (available == nullptr) {
      add(Health::kUnknown, "memory-available", "what is available is not told", total.line);
      return;
    }
    const double percent = 100 * available->amount / total.amount;
    const double least = host_.thresholds->at("memory-available");
    add(percent < least ? Health::kFlag : Health::kOk, "memory-available",
        fmt::format("{:.4g} GiB ({:.3g} %) available{}", available->amount / kGibi, percent,
                    percent < least ? ": what of an earlier job still runs?" : ""),
        available->line);
  }

  void judge_swap() {
    const Value *total = find("SwapTotal"), *left = find("SwapFree");
    if (total == nullptr || left == nullptr) return;
    const double used = total->amount - left->amount;
    if (used > host_.thresholds->at("swap-used")) {
      add(Health::kFlag, "memory-swap", fmt::format("{:.4g} GiB are swapped out", used / kGibi),
          left->line);
    }
  }

  void judge_pages(const Value& total) {
    const Value* corrupted = find("HardwareCorrupted");
    if (corrupted != nullptr && corrupted->amount > 0) {
      add(Health::kInvestigate, "memory-corrupted",
          fmt::format("{:g} KiB of memory were given up after hardware errors",
                      corrupted->amount / kKibi),
          corrupted->line);
    }
    const Value *pages = find("HugePages_Total"), *size = find("Hugepagesize");
    if (pages == nullptr || size == nullptr) return;
    const double reserved = pages->amount * size->amount;
    if (pages->amount == 0 && host_.efa_devices().value_or(0) > 0) {
      add(Health::kFlag, "memory-hugepages",
          "no huge pages are reserved; EFA's provider keeps its buffers in them", pages->line);
    } else if (reserved > total.amount / 2) {
      add(Health::kFlag, "memory-hugepages",
          fmt::format("{:.4g} GiB are reserved as huge pages, which nothing else can use",
                      reserved / kGibi),
          pages->line);
    }
  }

  const Text& text_;
  const Host& host_;
  CheckResult& check_;
  std::string source_;
  bool seen_ = false;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace

void read_memory(const Text& text, const Host& host, CheckResult& check) {
  bool seen = false;
  for (const std::vector<Line>& stream : streams_of(text.content)) {
    MemoryReader reader(text, host, check);
    reader.read(stream);
    seen = seen || reader.seen();
  }
  if (!seen) {
    check.add(Health::kUnknown, "memory-empty", {},
              "nothing was understood as /proc/meminfo or free -h", {text.file, 0, 0});
  }
}

void look_at_memory(const HostView& view, const Host& host, CheckResult& check) {
  const auto text = view.file("/proc/meminfo");
  if (text)
    read_memory({"/proc/meminfo", *text}, host, check);
  else if (!read_command(view, {"free", "-h"}, kCommandLimit, read_memory, host, check))
    check.add(Health::kUnknown, "memory-empty", {}, text.findings().front().message);
}

}  // namespace muster::health
