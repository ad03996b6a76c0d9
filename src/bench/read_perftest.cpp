// linux-rdma's perftest: bandwidth and latency tables, one report or two (local and remote), and
// its JSON. MB/sec there are 2^20 bytes, Gb/sec 10^9 bits. A peak of nought is one that was not
// measured (duration mode).
#include <cmath>

#include <fmt/format.h>

#include "base/words.h"
#include "bench/reader.h"

namespace muster::bench {
namespace {

constexpr double kMebibyte = 1048576;

/// "RDMA_Write BW Test" -> write_bw, "Send Bidirectional BW" -> send_bidirectional_bw.
std::string perftest_operation(std::string_view title) {
  std::string name = lower_case(title);
  if (name.starts_with("rdma_")) name.erase(0, 5);
  for (const std::string_view end : {" test", "_test"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  for (char& c : name) {
    if (c == ' ') c = '_';
  }
  return name;
}

class PerftestReader : public TextReader {
 public:
  bool take(const LogLine& line, LogBuilder& builder) override;

 private:
  bool take_perftest_row(const LogLine& line, LogBuilder& builder);
  void add_bandwidth(Run& run, const Record& base, const std::map<std::string, std::string>& cells);

  const Regex& title_ = pattern(
      R"(^ +((?:RDMA_|Send|Atomic|Raw|SEND|Write|Read)[\w ]*?(?:BW|Latency)(?: Test)?) *$)");
  const Regex& column_ = pattern(R"(#?[\w%.]+(?: (?:peak|average|percentile))?\[[^\]]*\]|#\w+)");
  std::optional<std::size_t> run_;
  std::vector<std::string> titles_;
  std::string side_, operation_, source_;
};

void PerftestReader::add_bandwidth(Run& run, const Record& base,
                                   const std::map<std::string, std::string>& cells) {
  std::optional<double> rate, peak, messages;
  for (const auto& [title, cell] : cells) {
    const double unit = title.find("[Gb/sec]") != std::string::npos ? 1e9 / 8 : kMebibyte;
    const auto value = finite(cell);
    if (title.starts_with("BW average") && value) rate = *value * unit / 1e9;
    if (title.starts_with("BW peak") && value && *value > 0) peak = *value * unit / 1e9;
    if (title.starts_with("MsgRate")) messages = value;
  }
  const std::string lead = side_.empty() ? "" : side_ + " ";
  Record record = base;
  record.variant = side_;
  record.algbw = rate;
  if (messages && *messages > 0) record.time = 1 / *messages;  // millions a second
  run.records.push_back(record);
  record.variant = lead + "peak";
  record.algbw = peak;
  record.time.reset();
  run.records.push_back(std::move(record));
}

bool PerftestReader::take_perftest_row(const LogLine& line, LogBuilder& builder) {
  auto words = words_of(line.text);
  if (words.size() < 3 || !whole(words[0]) || !whole(words[1])) return false;
  for (const std::string_view word : words) {
    if (!finite(word)) return false;
  }
  std::vector<std::string> titles = titles_;
  // A blank peak: one figure less than there are titles.
  if (words.size() + 1 == titles.size() && titles.size() > 4 && titles[2].starts_with("BW peak"))
    titles.erase(titles.begin() + 2);
  std::map<std::string, std::string> cells;
  for (std::size_t i = 0; i < std::min(words.size(), titles.size()); ++i)
    cells[titles[i]] = words[i];
  Run& run = builder.log.runs[*run_];
  Record record;
  record.tool = run.tool;
  record.operation = run.operation;
  record.size = whole(words[0]);
  record.line = line.number;
  record.ranks = 2;
  bool bandwidth = false;
  for (const auto& [title, cell] : cells) {
    bandwidth = bandwidth || title.starts_with("BW ");
    if (title.starts_with("t_avg")) record.time = finite(cell);
  }
  if (bandwidth) {
    add_bandwidth(run, record, cells);
    return true;
  }
  for (const auto& [title, cell] : cells) {
    if (title.starts_with("t_typical") && !record.time) record.time = finite(cell);
  }
  run.records.push_back(std::move(record));
  return true;
}

bool PerftestReader::take(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  if (finds(title_, line.text, match)) {
    operation_ = perftest_operation(group(match, 1));
    run_.reset();
    side_.clear();
    return true;
  }
  const std::string_view text = trimmed(line.text);
  if (text.starts_with("Local results") || text.starts_with("local results")) {
    side_ = "local";
    return true;
  }
  if (text.starts_with("Remote results") || text.starts_with("remote results")) {
    side_ = "remote";
    return true;
  }
  if (text.starts_with("#bytes") && (text.find("BW average[") != std::string_view::npos ||
                                     text.find("t_min[") != std::string_view::npos)) {
    titles_.clear();
    std::size_t from = 0;
    while (column_.search(text, from, match) == Regex::Found::kYes) {
      titles_.emplace_back(text.substr(match.begin, match.end - match.begin));
      from = match.end;
    }
    if (!run_) {
      Run& run = builder.open("perftest", line);
      run.operation = operation_.empty() ? text.find("BW") != std::string_view::npos
                                               ? std::string("bw")
                                               : std::string("latency")
                                         : operation_;
      run.ranks = 2;
      run_ = builder.log.runs.size() - 1;
      source_ = line.source;
    }
    return true;
  }
  return run_ && line.source == source_ && take_perftest_row(line, builder);
}

}  // namespace

std::unique_ptr<TextReader> make_perftest_reader() {
  return std::make_unique<PerftestReader>();
}

bool read_perftest_json(const Node& document, LogBuilder& builder) {
  const Node* about = document.is_mapping() ? document.find("test_info") : nullptr;
  if (about == nullptr || !about->is_mapping()) return false;
  const Node* test = about->find("test");
  const auto cell = [](const Node& node, std::string_view key) {
    const Node* found = node.find(key);
    return found != nullptr && found->is_scalar() ? finite(trimmed(found->text())) : std::nullopt;
  };
  Run& run = builder.open("perftest", {{}, {}, document.where().line});
  run.operation = perftest_operation(test != nullptr ? test->text() : "bw");
  run.ranks = 2;
  for (const auto& [key, side] :
       {std::pair{"results", ""}, {"results_local", "local"}, {"results_remote", "remote"}}) {
    const Node* results = document.find(key);
    if (results == nullptr || !results->is_mapping()) continue;
    Record record;
    record.tool = run.tool;
    record.operation = run.operation;
    record.ranks = 2;
    record.line = results->where().line;
    const auto size = cell(*results, "MsgSize");
    if (size && *size >= 0) record.size = static_cast<std::uint64_t>(*size);
    const auto messages = cell(*results, "MsgRate");
    const auto average = cell(*results, "BW_average"), peak = cell(*results, "BW_peak");
    // The unit is not said: of the two it may be, the one that the message rate confirms.
    double unit = kMebibyte;
    if (messages && size && average && *messages > 0 && *size > 0 && *average > 0) {
      const double bytes = *messages * 1e6 * *size;
      const double bits_off = std::abs(std::log(*average * 1e9 / 8 / bytes));
      const double bytes_off = std::abs(std::log(*average * kMebibyte / bytes));
      unit = bits_off < bytes_off ? 1e9 / 8 : kMebibyte;
      record.time = 1 / *messages;
    }
    record.variant = side;
    if (average) record.algbw = *average * unit / 1e9;
    const auto latency = cell(*results, "t_avg");
    if (latency) record.time = latency;
    run.records.push_back(record);
    if (results->find("BW_peak") == nullptr) continue;
    record.variant = *side == '\0' ? "peak" : fmt::format("{} peak", side);
    record.time.reset();
    record.algbw.reset();
    if (peak && *peak > 0) record.algbw = *peak * unit / 1e9;
    run.records.push_back(std::move(record));
  }
  return true;
}

}  // namespace muster::bench
