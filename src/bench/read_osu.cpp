// OSU micro-benchmarks' tables: latency, bandwidth, collectives, with and without -f, -c and -z.
// Megabytes are 10^6 bytes. Sizes of collectives are those of one rank's buffer.
#include <fmt/format.h>

#include "base/words.h"
#include "bench/reader.h"

namespace muster::bench {
namespace {

constexpr double kMegabyte = 1e6, kGigabyte = 1e9;

/// "MPI Allreduce Latency" -> all_reduce, "MPI Bandwidth" -> bw, "MPI_Put Latency" -> put_latency.
std::string osu_operation(std::string_view title) {
  std::string name = lower_case(title);
  for (const std::string_view gone :
       {"mpi-cuda ", "mpi-rocm ", "mpi-openacc ", "mpi ", "mpi_", "openshmem ", "nccl ", "upc "}) {
    if (name.starts_with(gone)) {
      name.erase(0, gone.size());
      break;
    }
  }
  if (name == "bandwidth") return "bw";
  if (name == "bi-directional bandwidth") return "bibw";
  if (name == "multiple bandwidth / message rate") return "mbw_mr";
  if (name == "latency") return "latency";
  if (name.ends_with(" latency")) {
    const std::string shorter = name.substr(0, name.size() - 8);
    std::string collective = operation_name(shorter);
    if (collective != shorter) return collective;
  }
  for (char& c : name) {
    if (c == ' ' || c == '/' || c == '-') c = '_';
  }
  return name;
}

class OsuReader : public TextReader {
 public:
  bool take(const LogLine& line, LogBuilder& builder) override;

 private:
  bool take_header(const LogLine& line, LogBuilder& builder);
  bool take_osu_row(const LogLine& line, LogBuilder& builder);

  const Regex& title_ = pattern(R"(# *OSU +(.*?) +(?:[Tt]est +)?v([0-9][0-9.]*))");
  const Regex& datatype_ = pattern(R"(# *Datatype: *MPI_(\w+))");
  const Regex& pairs_ = pattern(R"(# *\[ *pairs: *(\d+) *\])");
  std::optional<std::size_t> run_;
  std::string source_, type_;
  std::vector<std::string> titles_;  ///< of the columns after the size
};

bool OsuReader::take_header(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  if (finds(title_, line.text, match)) {
    std::string_view title = group(match, 1);
    for (const std::string_view end : {" Test", " test"}) {
      if (title.ends_with(end)) title.remove_suffix(end.size());
    }
    Run& run = builder.open("osu", line);
    run.version = group(match, 2);
    run.operation = osu_operation(title);
    run_ = builder.log.runs.size() - 1;
    source_ = line.source;
    type_.clear();
    titles_.clear();
    return true;
  }
  if (!run_ || line.source != source_) return false;
  Run& run = builder.log.runs[*run_];
  if (finds(datatype_, line.text, match)) {
    type_ = type_name(group(match, 1));
    return true;
  }
  if (finds(pairs_, line.text, match)) {
    run.ranks = 2 * static_cast<int>(whole(group(match, 1)).value_or(0));
    return true;
  }
  const std::string_view text = trimmed(line.text);
  if (text.starts_with("# Size") || text.starts_with("# Avg") || text.starts_with("# Overall")) {
    titles_.clear();
    for (const std::string_view title : columns_of(text.substr(2))) titles_.emplace_back(title);
    if (!titles_.empty() && titles_[0].starts_with("Size")) titles_.erase(titles_.begin());
    // "Size  Bandwidth (MB/s)" with one blank between them.
    return true;
  }
  return text.starts_with("# [") || text.starts_with("# Window");
}

bool OsuReader::take_osu_row(const LogLine& line, LogBuilder& builder) {
  if (!run_ || titles_.empty() || line.source != source_) return false;
  const auto words = words_of(line.text);
  if (words.size() < 2) return false;
  const auto size = whole(words[0]);
  if (!size || !finite(words[1])) return false;
  Run& run = builder.log.runs[*run_];
  Record record;
  record.tool = run.tool;
  record.version = run.version;
  record.operation = run.operation;
  record.type = type_;
  record.ranks = run.ranks;
  record.size = size;
  record.line = line.number;
  for (std::size_t i = 0; i < titles_.size() && i + 1 < words.size(); ++i) {
    const std::string title = lower_case(titles_[i]);
    const auto value = finite(words[i + 1]);
    const bool is_time = title.find("(us)") != std::string::npos;
    const bool is_first =
        title.starts_with("avg") || title.starts_with("latency") || title.starts_with("overall");
    if (is_time && is_first && !record.time) record.time = value;
    if (title.find("mb/s") != std::string::npos && value)
      record.algbw = *value * kMegabyte / kGigabyte;
    if (title.starts_with("validation")) {
      const std::string verdict = lower_case(words[i + 1]);
      if (verdict == "pass") record.wrong = 0;
      if (verdict == "fail") {
        record.wrong = 1;
        run.wrong.push_back({line.number, std::string(trimmed(line.text))});
      }
    }
  }
  run.records.push_back(std::move(record));
  return true;
}

bool OsuReader::take(const LogLine& line, LogBuilder& builder) {
  if (line.text.find('#') != std::string::npos && take_header(line, builder)) return true;
  return take_osu_row(line, builder);
}

}  // namespace

std::unique_ptr<TextReader> make_osu_reader() {
  return std::make_unique<OsuReader>();
}

}  // namespace muster::bench
