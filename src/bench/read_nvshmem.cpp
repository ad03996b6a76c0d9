// NVSHMEM's perftests (tables of several releases, boxed or not, and the &&&& PERF lines) and
// nccom-test of Neuron, whose tables look alike. GB of the first are 10^9 bytes, of the second
// 2^30.
#include <algorithm>

#include <fmt/format.h>

#include "base/words.h"
#include "bench/formulas.h"
#include "bench/reader.h"

namespace muster::bench {
namespace {

constexpr double kGibibyte = 1073741824, kGiga = 1e9;

/// "alltoall_device", "shmem_put_bw_uni", "alltoall_latency" -> alltoall, put_bw, alltoall.
std::string nvshmem_operation(std::string_view name) {
  std::string plain = lower_case(name);
  if (plain.starts_with("shmem_")) plain.erase(0, 6);
  for (const std::string_view end : {"_device", "_on_stream", "_uni"}) {
    if (plain.ends_with(end)) plain.resize(plain.size() - end.size());
  }
  if (plain.ends_with("_latency")) {
    const std::string shorter = plain.substr(0, plain.size() - 8);
    std::string collective = operation_name(shorter);
    if (bus_factor(collective, 2)) return collective;
  }
  return operation_name(plain);
}

/// The words of a table's row, boxed or not.
std::vector<std::string_view> cells_of(std::string_view text) {
  std::vector<std::string_view> cells;
  for (const std::string_view word : words_of(text)) {
    if (word != "|") cells.push_back(word);
  }
  return cells;
}

/// Titles of columns with the blanks inside them taken away: "BW GB/sec" -> bwgb/sec.
std::vector<std::string> table_titles(std::string_view text) {
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), '|', ' ');
  std::vector<std::string> titles;
  for (const std::string_view title : columns_of(plain)) {
    std::string one;
    for (const char c : lower_case(title)) {
      if (c != ' ') one += c;
    }
    titles.push_back(std::move(one));
  }
  return titles;
}

/// Fills a record from the cells of a row, by the titles of the columns. False: not a row.
bool fill_table_row(const std::vector<std::string>& titles, std::string_view text, Record& record,
                    double gigabyte) {
  const auto cells = cells_of(text);
  if (cells.size() != titles.size() || !whole(cells[0])) return false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string& title = titles[i];
    const auto value = finite(cells[i]);
    const bool is_time = title.starts_with("latency") || title.starts_with("avg_lat") ||
                         title.starts_with("avglat") || title.starts_with("time");
    if (title.starts_with("size")) record.size = whole(cells[i]);
    if (title.starts_with("count")) record.count = whole(cells[i]);
    if (title == "type") record.type = type_name(cells[i]);
    if (title == "redop") record.reduction = cells[i];
    if (title == "scope" && cells[i] != "-" && cells[i] != "None") record.variant = cells[i];
    if (is_time && !record.time) record.time = value;
    if (value && title.starts_with("algbw")) record.algbw = *value * gigabyte / kGiga;
    if (value && title.starts_with("busbw")) record.busbw = *value * gigabyte / kGiga;
    if (value && title.starts_with("bw")) record.algbw = *value * gigabyte / kGiga;
  }
  return record.size.has_value();
}

class NvshmemReader : public TextReader {
 public:
  bool take(const LogLine& line, LogBuilder& builder) override;
  void finish(LogBuilder& builder) override;

 private:
  bool take_perf(const LogLine& line, LogBuilder& builder);
  Run& open_nvshmem(const LogLine& line, LogBuilder& builder, const std::string& operation);

  const Regex& version_ = pattern(R"(NVSHMEM v([0-9][0-9.]*))");
  const Regex& pe_ =
      pattern(R"(mype: *(\d+) +mype_node: *(\d+) +device name: *(.*?)(?: bus id:.*)?$)");
  const Regex& banner_ = pattern(
      R"(^[ |]*#?((?:shmem_)?[a-z0-9_]+(?:_bw|_latency|_device|_on_stream|_ping_pong)[a-z_]*)[ |]*$)");
  const Regex& perf_ = pattern(
      R"(&&&& PERF(_STATS)? (\w+?)___(\w+?)___size__(\d+)___(\w+) +(?:([0-9.eE+]+) +)?[-+]([\w/]+)(?: +mean=([0-9.eE+]+))?)");
  std::string version_seen_, operation_;
  std::vector<std::string> titles_;
  std::optional<std::size_t> run_;
  std::vector<Device> devices_;
};

Run& NvshmemReader::open_nvshmem(const LogLine& line, LogBuilder& builder,
                                 const std::string& operation) {
  Run& run = builder.open("nvshmem", line);
  run.version = version_seen_;
  run.operation = operation;
  run.devices = devices_;
  run_ = builder.log.runs.size() - 1;
  return run;
}

bool NvshmemReader::take_perf(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  if (!finds(perf_, line.text, match)) return false;
  const std::string operation = nvshmem_operation(group(match, 2));
  if (!run_ || builder.log.runs[*run_].operation != operation)
    open_nvshmem(line, builder, operation);
  Run& run = builder.log.runs[*run_];
  Record record;
  record.tool = run.tool;
  record.version = run.version;
  record.operation = operation;
  const std::string scope = lower_case(group(match, 3));
  if (scope != "none") record.variant = scope;
  record.size = whole(group(match, 4));
  record.line = line.number;
  const auto value = finite(group(match, 1).empty() ? group(match, 6) : group(match, 8));
  const std::string unit = lower_case(group(match, 7));
  if (value && unit == "us") record.time = value;
  if (value && unit == "ns") record.time = *value / 1000;
  if (value && unit == "ms") record.time = *value * 1000;
  if (value && unit == "gb/sec") record.algbw = value;
  if (unit == "gb/sec" || record.time) {
    run.records.push_back(std::move(record));
  } else {
    builder.unread(line, fmt::format("unit {} is not known", unit));
  }
  return true;
}

bool NvshmemReader::take(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  const std::string_view text = trimmed(line.text);
  if (finds(version_, text, match)) {
    version_seen_ = group(match, 1);
    devices_.clear();
    return true;
  }
  if (finds(pe_, text, match)) {
    devices_.push_back({static_cast<int>(whole(group(match, 1)).value_or(0)),
                        {},
                        {},
                        std::string(group(match, 3)),
                        line.number});
    return true;
  }
  if (take_perf(line, builder)) return true;
  if (finds(banner_, text, match)) {
    operation_ = nvshmem_operation(group(match, 1));
    titles_.clear();
    run_.reset();
    return true;
  }
  if (text.find("size(B)") != std::string_view::npos ||
      text.find("size (B)") != std::string_view::npos) {
    if (text.find("count(elems)") != std::string_view::npos) return false;  // nccom-test's
    titles_ = table_titles(text);
    if (operation_.empty()) return false;
    open_nvshmem(line, builder, operation_);
    return true;
  }
  if (!run_ || titles_.empty()) return false;
  Run& run = builder.log.runs[*run_];
  Record record;
  record.tool = run.tool;
  record.version = run.version;
  record.operation = run.operation;
  record.line = line.number;
  if (!fill_table_row(titles_, text, record, kGiga)) return false;
  run.records.push_back(std::move(record));
  return true;
}

void NvshmemReader::finish(LogBuilder& builder) {
  for (Run& run : builder.log.runs) {
    if (run.tool != "nvshmem") continue;
    // Bus bandwidth 0 in a collective's whole table: one PE, nothing travelled.
    bool any = false, moved = false;
    for (const Record& record : run.records) {
      if (!record.busbw || record.algbw.value_or(0) <= 0 || !bus_factor(record.operation, 2))
        continue;
      any = true;
      moved = moved || *record.busbw > 0;
    }
    if (any && !moved) run.ranks = 1;
    for (Record& record : run.records) record.ranks = ranks_of(run);
  }
}

class NccomReader : public TextReader {
 public:
  bool take(const LogLine& line, LogBuilder& builder) override;

 private:
  const Regex& command_ = pattern(R"(\bnccom-test\b(.*))");
  std::string operation_;
  std::optional<int> ranks_, nodes_;
  std::vector<std::string> titles_;
  std::optional<std::size_t> run_;
};

bool NccomReader::take(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  if (finds(command_, line.text, match)) {
    const auto words = words_of(group(match, 1));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto value = whole(i + 1 < words.size() ? words[i + 1] : std::string_view());
      if ((words[i] == "-r" || words[i] == "--nworkers") && value)
        ranks_ = static_cast<int>(*value);
      if ((words[i] == "-N" || words[i] == "--nnodes") && value) nodes_ = static_cast<int>(*value);
      const std::string name = operation_name(words[i]);
      if (bus_factor(name, 2)) operation_ = name;
    }
    return false;  // a shell's trace, or prose: nobody's
  }
  const std::string_view text = trimmed(line.text);
  if (text.find("count(elems)") != std::string_view::npos &&
      text.find("size(B)") != std::string_view::npos) {
    titles_ = table_titles(text);
    Run& run = builder.open("nccom-test", line);
    run.operation = operation_;
    run.ranks = ranks_;
    run.nodes = nodes_;
    run.has_summary = true;
    run_ = builder.log.runs.size() - 1;
    return true;
  }
  if (!run_) return false;
  Run& run = builder.log.runs[*run_];
  if (text.starts_with("Avg bus bandwidth")) {
    const auto words = words_of(text);
    std::string_view figure = words.back();
    if (figure.ends_with("GB/s")) figure.remove_suffix(4);
    if (const auto value = finite(figure)) run.average_busbw = *value * kGibibyte / kGiga;
    run.ended = true;
    run_.reset();
    return true;
  }
  Record record;
  record.tool = run.tool;
  record.operation = run.operation;
  record.ranks = run.ranks;
  record.nodes = run.nodes;
  record.line = line.number;
  if (!fill_table_row(titles_, text, record, kGibibyte)) return false;
  run.records.push_back(std::move(record));
  return true;
}

}  // namespace

std::unique_ptr<TextReader> make_nvshmem_reader() {
  return std::make_unique<NvshmemReader>();
}

std::unique_ptr<TextReader> make_nccom_reader() {
  return std::make_unique<NccomReader>();
}

}  // namespace muster::bench
