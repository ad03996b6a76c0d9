// Expert-parallel logs: DeepEP's test programs and UCCL-EP's, whose lines are of the same kind with
// separators that differ from line to line; and pplx-kernels' TSV.
#include <algorithm>

#include <fmt/format.h>

#include "base/words.h"
#include "bench/reader.h"

namespace muster::bench {
namespace {

class ExpertReader : public TextReader {
 public:
  bool take(const LogLine& line, LogBuilder& builder) override;
  void finish(LogBuilder& builder) override;

 private:
  Run& current(const LogLine& line, LogBuilder& builder);
  void take_best(const LogLine& line, const Regex::Match& match, LogBuilder& builder);
  void take_rank(const LogLine& line, const Regex::Match& match, LogBuilder& builder);
  Record record_for(const Run& run, const LogLine& line) const;

  const Regex& config_ = pattern(R"(\[config\] (.*))");
  const Regex& pair_ = pattern(R"((\w+)=([\w.]+))");
  const Regex& testing_ = pattern(R"(\[testing\] (Running with .*))");
  const Regex& best_ =
      pattern(R"(\[tuning\] Best (dispatch|combine)(?: \((FP8|BF16)\))?[:,]? (.*))");
  const Regex& rate_ = pattern(R"(([0-9.]+) GB/s \((RDMA|NVL)[^)]*\))");
  const Regex& time_ = pattern(
      R"((?:\bt: *|transmit: *|avg_t: *)([0-9.]+) us|[0-9.]+ \+ ([0-9.]+) us|, ([0-9.]+) us)");
  const Regex& ranked_ = pattern(R"(\[rank (\d+)\] (Dispatch.*))");
  const Regex& both_ =
      pattern(R"(Dispatch \+ [cC]ombine bandwidth: ([0-9.]+) GB/s, avg_t=([0-9.]+) us)");
  const Regex& split_ = pattern(
      R"(Dispatch bandwidth: ([0-9.]+) GB/s, avg_t=([0-9.]+) us \| Combine bandwidth: ([0-9.]+) GB/s, avg_t=([0-9.]+) us)");
  const Regex& hook_ = pattern(
      R"(Dispatch send/recv time: ([0-9.]+) \+ ([0-9.]+) us \| Combine send/recv time: ([0-9.]+) \+ ([0-9.]+) us)");
  std::optional<std::size_t> run_;
  int tested_ = 0, passed_ = 0;
  std::vector<std::pair<int, std::string>> open_tests_;  ///< announced, no "passed" yet
};

Run& ExpertReader::current(const LogLine& line, LogBuilder& builder) {
  if (!run_) {
    builder.open("deepep", line);
    run_ = builder.log.runs.size() - 1;
  }
  return builder.log.runs[*run_];
}

Record ExpertReader::record_for(const Run& run, const LogLine& line) const {
  Record record;
  record.tool = run.tool;
  record.version = run.version;
  record.line = line.number;
  return record;
}

void ExpertReader::take_best(const LogLine& line, const Regex::Match& match, LogBuilder& builder) {
  Run& run = current(line, builder);
  const std::string rest(group(match, 3));
  Record record = record_for(run, line);
  record.operation = group(match, 1);
  const std::string_view type = group(match, 2);
  record.type = type == "FP8" ? "f8e4m3" : type == "BF16" ? "bfloat16" : "";
  Regex::Match found;
  if (finds(time_, rest, found)) {
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
      if (!group(found, i).empty()) record.time = finite(group(found, i));
    }
  }
  std::size_t from = 0;
  bool any = false;
  while (rate_.search(rest, from, found) == Regex::Found::kYes) {
    from = found.end;
    const auto rate = finite(group(found, 1));
    if (!rate || *rate == 0) continue;  // "0.00 GB/s (RDMA)" of a run on one node
    record.algbw = rate;
    record.variant = lower_case(group(found, 2));
    run.records.push_back(record);
    any = true;
  }
  if (!any) builder.unread(line, "a best setting without its bandwidth");
}

void ExpertReader::take_rank(const LogLine& line, const Regex::Match& match, LogBuilder& builder) {
  Run& run = current(line, builder);
  const int rank = static_cast<int>(whole(group(match, 1)).value_or(0));
  const std::string rest(group(match, 2));
  const auto add = [&](const char* operation, const char* extra, std::string_view rate,
                       std::string_view time) {
    Record record = record_for(run, line);
    record.operation = operation;
    record.variant = fmt::format("{}rank {}", extra, rank);
    record.algbw = finite(rate);
    record.time = finite(time);
    run.records.push_back(std::move(record));
  };
  Regex::Match found;
  if (finds(both_, rest, found)) add("dispatch+combine", "", group(found, 1), group(found, 2));
  if (finds(split_, rest, found)) {
    add("dispatch", "", group(found, 1), group(found, 2));
    add("combine", "", group(found, 3), group(found, 4));
  }
  if (finds(hook_, rest, found)) {
    add("dispatch", "send ", "", group(found, 1));
    add("dispatch", "recv ", "", group(found, 2));
    add("combine", "send ", "", group(found, 3));
    add("combine", "recv ", "", group(found, 4));
  }
  run.ranks = std::max(run.ranks.value_or(0), rank + 1);
}

bool ExpertReader::take(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  if (finds(config_, line.text, match)) {
    if (run_ && !builder.log.runs[*run_].records.empty()) run_.reset();
    Run& run = current(line, builder);
    const std::string pairs(group(match, 1));
    std::size_t from = 0;
    while (pair_.search(pairs, from, match) == Regex::Found::kYes) {
      run.settings[std::string(group(match, 1))] = group(match, 2);
      from = match.end;
    }
    return true;
  }
  if (finds(testing_, line.text, match)) {
    current(line, builder);
    ++tested_;
    if (line.text.find("passed") != std::string::npos) {
      ++passed_;
    } else {
      open_tests_.emplace_back(line.number, std::string(trimmed(line.text)));
    }
    return true;
  }
  if (!open_tests_.empty() && trimmed(line.text) == "passed") {
    ++passed_;
    open_tests_.pop_back();
    return true;
  }
  if (finds(best_, line.text, match)) {
    take_best(line, match, builder);
    return true;
  }
  if (finds(ranked_, line.text, match)) {
    take_rank(line, match, builder);
    return true;
  }
  if (line.text.find("[tuning]") != std::string::npos ||
      line.text.find("[layout]") != std::string::npos) {
    current(line, builder);
    return true;
  }
  if (run_ &&
      (line.text.find("AssertionError") != std::string::npos || line.text.find("Assertion") == 0)) {
    builder.log.runs[*run_].wrong.push_back({line.number, std::string(trimmed(line.text))});
    return true;
  }
  return false;
}

void ExpertReader::finish(LogBuilder& builder) {
  for (Run& run : builder.log.runs) {
    if (run.tool != "deepep") continue;
    for (const auto& [number, text] : open_tests_)
      run.wrong.push_back({number, "not passed: " + text});
    const bool good = tested_ > 0 && passed_ == tested_ && run.wrong.empty();
    for (Record& record : run.records) {
      record.ranks = run.ranks;
      if (good) record.wrong = 0;
    }
  }
}

class PplxReader : public TextReader {
 public:
  bool take(const LogLine& line, LogBuilder& builder) override;

 private:
  const Regex& world_ = pattern(R"(^EP=(\d+) DP=(\d+)$)");
  const Regex& figure_ = pattern(R"(([0-9.]+) *(μs|us|ms|GB/s)?)");
  std::vector<std::string> titles_;
  std::optional<int> ranks_;
  std::optional<std::size_t> run_;
};

bool PplxReader::take(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  const std::string_view text = trimmed(line.text);
  if (finds(world_, text, match)) {
    ranks_ = static_cast<int>(whole(group(match, 1)).value_or(0));
    return true;
  }
  if (text.starts_with("E\tE/tok\ttok\tdim")) {
    titles_.clear();
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t tab = std::min(text.find('\t', from), text.size());
      titles_.emplace_back(text.substr(from, tab - from));
      from = tab + 1;
    }
    Run& run = builder.open("pplx-kernels", line);
    run.ranks = ranks_;
    run_ = builder.log.runs.size() - 1;
    return true;
  }
  if (!run_ || text.find('\t') == std::string_view::npos) return false;
  std::map<std::string, std::string> row;
  std::size_t from = 0;
  for (const std::string& title : titles_) {
    if (from > text.size()) break;
    const std::size_t tab = std::min(text.find('\t', from), text.size());
    row[title] = trimmed(text.substr(from, tab - from));
    from = tab + 1;
  }
  Run& run = builder.log.runs[*run_];
  bool any = false;
  for (const auto& [column, operation, extra] : {std::tuple{"Dispatch", "dispatch", ""},
                                                 {"Combine", "combine", ""},
                                                 {"Torch", "alltoall", "torch "},
                                                 {"NVSHMEM", "alltoall", "nvshmem "}}) {
    const auto time = row.find(fmt::format("{}_lat", column));
    if (time == row.end()) continue;
    Record record;
    record.tool = run.tool;
    record.operation = operation;
    record.ranks = run.ranks;
    record.variant = fmt::format("{}E={} topk={} tokens={} hidden={}", extra, row["E"],
                                 row["E/tok"], row["tok"], row["dim"]);
    record.line = line.number;
    if (finds(figure_, time->second, match)) record.time = finite(group(match, 1));
    const std::string rate = row[fmt::format("{}_bw", column)];
    if (finds(figure_, rate, match)) record.algbw = finite(group(match, 1));
    const std::string bytes = row[fmt::format("{}_bytes", column)];
    record.size = whole(bytes);
    if (record.time || record.algbw) {
      run.records.push_back(std::move(record));
      any = true;
    }
  }
  if (!any) builder.unread(line, "a row without a latency");
  return true;
}

}  // namespace

std::unique_ptr<TextReader> make_expert_reader() {
  return std::make_unique<ExpertReader>();
}

std::unique_ptr<TextReader> make_pplx_reader() {
  return std::make_unique<PplxReader>();
}

}  // namespace muster::bench
