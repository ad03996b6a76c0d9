// nvbandwidth's matrices, as text and JSON. A test that was waived has no figures; one whose data
// was not what it should be fails, and the tests after it are read all the same.
#include <fmt/format.h>

#include "base/words.h"
#include "bench/reader.h"

namespace muster::bench {
namespace {

class NvbandwidthReader : public TextReader {
 public:
  bool take(const LogLine& line, LogBuilder& builder) override;

 private:
  Run& open_test(const LogLine& line, LogBuilder& builder, std::string_view name);
  bool take_cells(const LogLine& line, LogBuilder& builder);

  const Regex& version_ = pattern(R"(nvbandwidth Version: v?(\S+))");
  const Regex& running_ = pattern(R"(^Running (\w+)\.?$)");
  const Regex& title_ = pattern(R"((\w+)\(row\) (<->|->|<-) (\w+)\(column\) (bandwidth|latency))");
  const Regex& sum_ = pattern(R"(^SUM (\w+) ([0-9.]+))");
  const Regex& variation_ = pattern(R"(^COEFFICIENT_OF_VARIATION (\w+))");
  const Regex& pattern_ = pattern(R"(Invalid value when checking the pattern at)");
  const Regex& offset_ = pattern(R"(Current offset)");
  const Regex& values_ =
      pattern(R"((?i:expected|actual|got|found) *(?:value)? *:? *(?:0x)?[0-9a-f]+)");
  std::string version_seen_;
  std::optional<std::size_t> run_;
  std::string row_kind_, column_kind_, arrow_;
  bool latency_ = false, matrix_ = false, verified_ = true, failing_ = false;
  std::vector<std::string> columns_seen_;
};

Run& NvbandwidthReader::open_test(const LogLine& line, LogBuilder& builder, std::string_view name) {
  Run& run = builder.open("nvbandwidth", line);
  run.version = version_seen_;
  run.operation = name;
  run_ = builder.log.runs.size() - 1;
  latency_ = name.find("latency") != std::string_view::npos;
  matrix_ = false;
  failing_ = false;
  columns_seen_.clear();
  return run;
}

bool NvbandwidthReader::take_cells(const LogLine& line, LogBuilder& builder) {
  const auto words = words_of(line.text);
  if (words.empty() || !whole(words[0])) return false;
  if (columns_seen_.empty()) {
    for (const std::string_view word : words) {
      if (!whole(word)) return false;
    }
    columns_seen_.assign(words.begin(), words.end());
    return true;
  }
  if (words.size() != columns_seen_.size() + 1) return false;
  Run& run = builder.log.runs[*run_];
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "N/A") continue;  // a device and itself
    Record record;
    record.tool = run.tool;
    record.version = run.version;
    record.operation = run.operation;
    record.variant = fmt::format("{} {} {} {} {}", row_kind_, words[0], arrow_, column_kind_,
                                 columns_seen_[i - 1]);
    (latency_ ? record.time : record.algbw) = finite(words[i]);
    if (latency_ && record.time) *record.time /= 1000;  // ns
    if (verified_) record.wrong = 0;
    record.line = line.number;
    run.records.push_back(std::move(record));
  }
  return true;
}

bool NvbandwidthReader::take(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  const std::string_view text = trimmed(line.text);
  if (text.find("skipVerification") != std::string_view::npos) verified_ = false;
  if (finds(version_, text, match)) {
    version_seen_ = group(match, 1);
    return true;
  }
  if (finds(running_, text, match)) {
    open_test(line, builder, group(match, 1));
    return true;
  }
  if (finds(sum_, text, match)) {
    // A sum belongs to the test that it names, not to the one read last: a waived one has none.
    const std::string name(group(match, 1));
    if (!run_ || builder.log.runs[*run_].operation != name) open_test(line, builder, name);
    Run& run = builder.log.runs[*run_];
    Record record;
    record.tool = run.tool;
    record.version = run.version;
    record.operation = name;
    record.variant = "sum";
    const auto value = finite(group(match, 2));
    const bool is_latency = name.find("latency") != std::string::npos;
    (is_latency ? record.time : record.algbw) = value;
    if (is_latency && record.time) *record.time /= 1000;
    if (verified_) record.wrong = 0;
    record.line = line.number;
    run.records.push_back(std::move(record));
    run.ended = true;
    matrix_ = false;
    return true;
  }
  if (finds(variation_, text, match)) return true;
  if (finds(pattern_, text, match)) {
    if (!run_) open_test(line, builder, "unknown test");
    Run& run = builder.log.runs[*run_];
    run.wrong.push_back({line.number, fmt::format("{}: {}", run.operation, text)});
    failing_ = true;
    matrix_ = false;
    return true;
  }
  if (failing_ && run_ &&
      (finds(offset_, text, match) || finds(values_, text, match) || text.starts_with("ASSERT"))) {
    auto& wrong = builder.log.runs[*run_].wrong;
    if (text.starts_with("ASSERT")) {
      builder.log.runs[*run_].broken.push_back({line.number, std::string(text)});
    } else if (!wrong.empty()) {
      wrong.back().text += fmt::format("; {}", text);
    }
    return true;
  }
  if (!run_) return false;
  if (finds(title_, text, match)) {
    row_kind_ = group(match, 1);
    arrow_ = group(match, 2);
    column_kind_ = group(match, 3);
    matrix_ = true;
    columns_seen_.clear();
    return true;
  }
  if (text.starts_with("Waived")) {
    builder.log.runs[*run_].ended = true;
    run_.reset();
    matrix_ = false;
    return true;
  }
  return matrix_ && take_cells(line, builder);
}

}  // namespace

std::unique_ptr<TextReader> make_nvbandwidth_reader() {
  return std::make_unique<NvbandwidthReader>();
}

bool read_nvbandwidth_json(const Node& document, LogBuilder& builder) {
  const Node* body = document.is_mapping() ? document.find("nvbandwidth") : nullptr;
  const Node* cases = body != nullptr && body->is_mapping() ? body->find("testcases") : nullptr;
  if (cases == nullptr || !cases->is_sequence()) return false;
  const auto text_of = [](const Node& node, std::string_view key) {
    const Node* found = node.find(key);
    return found != nullptr && found->is_scalar() ? found->text() : std::string();
  };
  std::string version = text_of(*body, "Version");
  if (version.empty()) version = text_of(*body, "version");
  if (version.starts_with('v')) version.erase(0, 1);
  for (const Node& test : cases->items()) {
    if (!test.is_mapping()) continue;
    const std::string name = text_of(test, "name"), status = text_of(test, "status");
    if (status == "Waived" || status == "Not Found") continue;
    Run& run = builder.open("nvbandwidth", {{}, {}, test.where().line});
    run.version = version;
    run.operation = name;
    run.ended = status == "Passed";
    const bool latency = name.find("latency") != std::string::npos;
    if (status != "Passed") {
      const std::string why = text_of(test, "error");
      const bool data = why.find("checking the pattern") != std::string::npos;
      (data ? run.wrong : run.broken)
          .push_back({test.where().line, fmt::format("{}: {} {}", name, status, why)});
    }
    const Node* matrix = test.find("bandwidth_matrix");
    if (matrix == nullptr || !matrix->is_sequence()) continue;
    for (std::size_t row = 0; row < matrix->items().size(); ++row) {
      const auto& cells = matrix->items()[row].items();
      for (std::size_t column = 0; column < cells.size(); ++column) {
        const auto value = finite(trimmed(cells[column].text()));
        if (!value) continue;
        Record record;
        record.tool = run.tool;
        record.version = run.version;
        record.operation = name;
        record.variant = matrix->items().size() == 1 ? fmt::format("CPU 0 -> GPU {}", column)
                                                     : fmt::format("GPU {} -> GPU {}", row, column);
        (latency ? record.time : record.algbw) = latency ? *value / 1000 : *value;
        if (status == "Passed") record.wrong = 0;
        record.line = cells[column].where().line;
        run.records.push_back(std::move(record));
      }
    }
  }
  return true;
}

}  // namespace muster::bench
