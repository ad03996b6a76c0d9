// Intel MPI Benchmarks' tables. What "Mbytes/sec" means differs by release (2^20 or 10^6 bytes), so
// it is told from the row's own size and time.
#include <cmath>

#include <fmt/format.h>

#include "base/words.h"
#include "bench/reader.h"

namespace muster::bench {
namespace {

class ImbReader : public TextReader {
 public:
  bool take(const LogLine& line, LogBuilder& builder) override;

 private:
  bool take_imb_row(const LogLine& line, LogBuilder& builder);

  const Regex& title_ =
      pattern(R"(# *Intel ?\([Rr]\) MPI Benchmarks ([0-9][0-9.]*)(?: Update \d+)?, (\S+) part)");
  const Regex& benchmark_ = pattern(R"(# Benchmarking (\w+))");
  const Regex& processes_ = pattern(R"(# *#processes *= *(\d+))");
  std::string version_, source_;
  std::optional<std::size_t> run_;
  std::vector<std::string> titles_;
};

/// Bytes a second of a printed figure: of the two meanings of Mbytes the one that a whole number
/// of messages of this size in this time comes nearer to. Exchange counts four, Sendrecv two.
double imb_rate(double printed, std::optional<std::uint64_t> size, std::optional<double> time) {
  constexpr double kDecimal = 1e6, kBinary = 1048576;
  if (!size || !time || *size == 0 || *time <= 0 || printed <= 0) return printed * kDecimal;
  const double one = static_cast<double>(*size) / (*time * 1e-6);
  const auto distance = [&](double unit) {
    const double messages = printed * unit / one;
    double nearest = 1e9;
    for (const double count : {1.0, 2.0, 4.0})
      nearest = std::min(nearest, std::abs(messages / count - 1));
    return nearest;
  };
  return printed * (distance(kBinary) < distance(kDecimal) ? kBinary : kDecimal);
}

bool ImbReader::take_imb_row(const LogLine& line, LogBuilder& builder) {
  const auto words = words_of(line.text);
  if (words.size() > 1 && whole(words[0]) && words[1].starts_with("time-out")) {
    builder.unread(
        line, fmt::format("IMB's time limit (-time) was over at {} bytes: not measured", words[0]));
    return true;
  }
  if (words.size() != titles_.size()) return false;
  for (const std::string_view word : words) {
    if (!finite(word)) return false;
  }
  Run& run = builder.log.runs[*run_];
  Record record;
  record.tool = run.tool;
  record.version = run.version;
  record.operation = run.operation;
  record.ranks = run.ranks;
  record.line = line.number;
  std::optional<double> rate;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& title = titles_[i];
    if (title == "#bytes") record.size = whole(words[i]);
    if (title.starts_with("t_avg") || title == "t[usec]") record.time = finite(words[i]);
    if (title == "Mbytes/sec") rate = finite(words[i]);
    if (title == "defects") record.wrong = finite(words[i]);
  }
  // Two-sided tests divide by the slowest, the others by the mean.
  if (rate && *rate > 0) {
    std::optional<double> slowest = record.time;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (titles_[i].starts_with("t_max")) slowest = finite(words[i]);
    }
    record.algbw = imb_rate(*rate, record.size, slowest) / 1e9;
  }
  if (record.wrong.value_or(0) > 0)
    run.wrong.push_back({line.number, std::string(trimmed(line.text))});
  run.records.push_back(std::move(record));
  return true;
}

bool ImbReader::take(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  if (line.text.find('#') != std::string::npos) {
    if (finds(title_, line.text, match)) {
      version_ = group(match, 1);
      return true;
    }
    if (finds(benchmark_, line.text, match)) {
      Run& run = builder.open("imb", line);
      run.version = version_;
      run.operation = operation_name(group(match, 1));
      run.has_summary = true;
      run_ = builder.log.runs.size() - 1;
      source_ = line.source;
      titles_.clear();
      return true;
    }
    if (run_ && finds(processes_, line.text, match)) {
      builder.log.runs[*run_].ranks = static_cast<int>(whole(group(match, 1)).value_or(0));
      return true;
    }
    const auto words = words_of(line.text);
    if (run_ && !words.empty() && words[0] == "#bytes" && words.size() > 1 &&
        words[1] == "#repetitions") {
      titles_.assign(words.begin(), words.end());
      return true;
    }
    if (run_ && line.text.find("All processes entering MPI_Finalize") != std::string::npos) {
      for (Run& run : builder.log.runs) run.ended = run.ended || run.tool == "imb";
      return true;
    }
  }
  return run_ && !titles_.empty() && line.source == source_ && take_imb_row(line, builder);
}

}  // namespace

std::unique_ptr<TextReader> make_imb_reader() {
  return std::make_unique<ImbReader>();
}

}  // namespace muster::bench
