// nccl-tests' and rccl-tests' tables, of all versions: with and without root and #wrong, with
// timestamps and per-iteration columns, with NCCL's own lines in the middle of a row.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/words.h"
#include "bench/formulas.h"
#include "bench/reader.h"

namespace muster::bench {
namespace {

constexpr std::size_t kHalf = 4;       ///< time, algbw, busbw, #wrong
constexpr std::size_t kTimedHalf = 8;  ///< with -I: i_min, i_max, i_p99, i_cv% as well

bool is_nccl_type(std::string_view word) {
  constexpr std::array<std::string_view, 16> kTypes = {
      "int8",   "uint8",    "int32",  "uint32", "int64",    "uint64",   "half", "float",
      "double", "bfloat16", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2", "char", "int"};
  return std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end();
}

bool is_nccl_redop(std::string_view word) {
  constexpr std::array<std::string_view, 8> kRedops = {"sum", "prod", "max",    "min",
                                                       "avg", "all",  "mulsum", "none"};
  return std::find(kRedops.begin(), kRedops.end(), word) != kRedops.end();
}

bool is_cell(std::string_view word) {
  return word == "N/A" || word == "nan" || word == "inf" || finite(word).has_value();
}

/// A row as far as it has been printed.
struct NcclRow {
  std::uint64_t size = 0, count = 0;
  std::string type, redop;
  std::vector<std::string> cells;  ///< root, when there is one, and the figures
  int line = 0;
  std::string source;
};

class NcclReader : public TextReader {
 public:
  bool take(const LogLine& line, LogBuilder& builder) override;
  void finish(LogBuilder& builder) override;

 private:
  bool take_comment(const LogLine& line, LogBuilder& builder);
  bool take_row(const LogLine& line, std::string_view text, LogBuilder& builder);
  void finish_row(LogBuilder& builder);
  void add_device(const LogLine& line, const Regex::Match& match, LogBuilder& builder);
  Run& run_for(const std::string& source, LogBuilder& builder, const LogLine& line,
               std::optional<std::uint64_t> size);
  void add_half(Run& run, const NcclRow& row, std::optional<int> root, std::size_t at,
                const char* placement);
  void infer_operation(Run& run) const;

  // Before NCCL's own line, which may stand in the middle of a row.
  const Regex& noise_ =
      pattern(R"(\S+:\d+:\d+ \[\d+\] .*NCCL (?:INFO|WARN|TRACE)|\S+:\d+:\d+ \[\d+\] NCCL)");
  const Regex& header_ = pattern(R"(n(?:Thread|Gpus)\b.*\bminBytes (\d+) maxBytes (\d+))");
  const Regex& special_ = pattern(R"((agg iters|graph): (\d+))");
  const Regex& device_ = pattern(
      R"(# +Rank +(\d+) +(?:Group +(\d+) +)?Pid +(\d+) +on +(\S+) +device +(\d+) +\[[^\]]*\] *(.*))");
  const Regex& columns_ = pattern(R"(# +size +count +type)");
  const Regex& wrong_ = pattern(R"(# *Out of bounds values *: *([0-9.eE+-]+) *(OK|FAILED)?)");
  const Regex& average_ = pattern(R"(# *Avg bus bandwidth *: *([0-9.eE+-]+))");
  const Regex& concluded_ = pattern(R"(# *Collective test (starting|concluded): *(\w+))");
  const Regex& program_ = pattern(
      R"(\b(all_reduce|all_gather|reduce_scatter|alltoallv?|broadcast|reduce|gather|scatter|sendrecv|hypercube)_perf)");
  const Regex& version_ = pattern(R"((nccl|rccl)-tests:? +(?i:version) +(\S+))");
  const Regex& native_ = pattern(R"(^# muster-bench version \S+ (\w+): )");
  const Regex& library_ = pattern(R"(nccl-library=(\d+))");
  const Regex& failure_ = pattern(R"(Test (?:CUDA|NCCL|HIP|RCCL)? ?failure|Test timeout)");

  std::string tool_ = "nccl-tests", version_seen_, program_seen_;
  std::string fabric_;  ///< of muster-bench's collectives, whose table this is
  bool seen_header_ = false;
  std::optional<NcclRow> pending_;
};

/// The run that a line belongs to: of its source, still open, and without a row of this size; so
/// that the rows of runs printed into each other part again.
Run& NcclReader::run_for(const std::string& source, LogBuilder& builder, const LogLine& line,
                         std::optional<std::uint64_t> size) {
  std::vector<Run*> open;
  for (const bool same : {true, false}) {
    for (Run& run : builder.log.runs) {
      const bool ours = run.tool == "nccl-tests" || run.tool == "rccl-tests";
      if (ours && !run.ended && (!same || run.stream == source)) open.push_back(&run);
    }
    if (!open.empty()) break;
  }
  if (open.empty()) {
    Run& run = builder.open(tool_, line);
    run.version = version_seen_;
    run.has_summary = true;
    return run;
  }
  if (size && open.size() > 1) {
    for (Run* run : open) {
      const bool has = std::any_of(run->records.begin(), run->records.end(),
                                   [size](const Record& record) { return record.size == size; });
      if (!has) return *run;
    }
  }
  return size ? *open.back() : *open.front();
}

void NcclReader::add_device(const LogLine& line, const Regex::Match& match, LogBuilder& builder) {
  Device device;
  device.rank = static_cast<int>(whole(group(match, 1)).value_or(0));
  device.pid = group(match, 3);
  device.host = group(match, 4);
  device.name = trimmed(group(match, 6));
  device.line = line.number;
  // Of one process first, then of one host, then where this rank is missing.
  Run* best = nullptr;
  int best_fit = -1;
  for (Run& run : builder.log.runs) {
    if (run.tool != tool_ || run.ended || !run.records.empty()) continue;
    int fit = run.stream == line.source ? 4 : 0;
    bool taken = false;
    for (const Device& other : run.devices) {
      taken = taken || other.rank == device.rank;
      if (other.host == device.host) fit |= other.pid == device.pid ? 2 : 1;
    }
    if (!taken && fit > best_fit) {
      best = &run;
      best_fit = fit;
    }
  }
  if (best == nullptr) {
    best = &builder.open(tool_, line);
    best->version = version_seen_;
    best->has_summary = true;
  }
  best->devices.push_back(std::move(device));
}

bool NcclReader::take_comment(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  if (finds(version_, line.text, match)) {
    tool_ = std::string(group(match, 1)) + "-tests";
    version_seen_ = group(match, 2);
    if (finds(library_, line.text, match)) builder.log.nccl = nccl_version(group(match, 1));
    // rccl-tests says who it is after its header.
    for (Run& run : builder.log.runs) {
      if ((run.tool != "nccl-tests" && run.tool != "rccl-tests") || !run.devices.empty() ||
          !run.records.empty()) {
        continue;
      }
      run.tool = tool_;
      run.version = version_seen_;
    }
    return true;
  }
  if (finds(native_, line.text, match)) {
    fabric_ = group(match, 1);
    return false;  // others look at it as well
  }
  if (finds(device_, line.text, match)) {
    add_device(line, match, builder);
    return true;
  }
  if (finds(header_, line.text, match)) {
    Run& run = builder.open(tool_, line);
    run.version = version_seen_;
    run.has_summary = true;
    run.operation = operation_name(program_seen_);
    // MPI goes without saying.
    if (!fabric_.empty() && fabric_ != "mpi") run.settings["fabric"] = fabric_;
    std::size_t from = 0;
    while (special_.search(line.text, from, match) == Regex::Found::kYes) {
      const std::string name(group(match, 1)), value(group(match, 2));
      if (value != (name == "graph" ? "0" : "1")) run.settings[name] = value;
      from = match.end;
    }
    return true;
  }
  if (finds(concluded_, line.text, match)) {
    program_seen_ = group(match, 2);
    if (group(match, 1) == "concluded") {
      for (Run& run : builder.log.runs) {
        const bool last = run.tool == tool_ && run.ended && run.stream == line.source;
        if (last && run.operation.empty()) run.operation = operation_name(program_seen_);
      }
    }
    return true;
  }
  if (finds(wrong_, line.text, match)) {
    finish_row(builder);
    Run& run = run_for(line.source, builder, line, std::nullopt);
    run.out_of_bounds = finite(group(match, 1));
    if (group(match, 2) == "FAILED" || run.out_of_bounds.value_or(0) > 0)
      run.wrong.push_back({line.number, std::string(trimmed(line.text))});
    run.ended = true;
    return true;
  }
  if (finds(average_, line.text, match)) {
    for (Run& run : builder.log.runs) {
      if (run.tool == tool_ && run.stream == line.source && run.ended && !run.average_busbw) {
        run.average_busbw = finite(group(match, 1));
        break;
      }
    }
    return true;
  }
  if (finds(columns_, line.text, match)) {
    seen_header_ = true;
    run_for(line.source, builder, line, std::nullopt);
    return true;
  }
  return false;
}

void NcclReader::add_half(Run& run, const NcclRow& row, std::optional<int> root, std::size_t at,
                          const char* placement) {
  Record record;
  record.tool = run.tool;
  record.version = run.version;
  record.operation = run.operation;
  record.type = type_name(row.type);
  record.reduction = row.redop == "none" ? "" : row.redop;
  record.placement = placement;
  record.root = root;
  record.size = row.size;
  record.count = row.count;
  record.time = finite(row.cells[at]);
  record.algbw = finite(row.cells[at + 1]);
  record.busbw = finite(row.cells[at + 2]);
  record.wrong = finite(row.cells[at + 3]);
  record.line = row.line;
  if (record.wrong.value_or(0) > 0)
    run.wrong.push_back({row.line, fmt::format("{} B {}: {} wrong values", row.size, placement,
                                               row.cells[at + 3])});
  run.records.push_back(std::move(record));
}

void NcclReader::finish_row(LogBuilder& builder) {
  if (!pending_) return;
  const NcclRow row = std::move(*pending_);
  pending_.reset();
  const LogLine line{{}, row.source, row.line};
  std::size_t cells = row.cells.size();
  const bool rooted = cells % kHalf == 1;
  const std::size_t first = rooted ? 1 : 0;
  cells -= first;
  if (cells != kHalf && cells != 2 * kHalf && cells != kTimedHalf + kTimedHalf) {
    builder.unread(line, fmt::format("the row of {} bytes has {} figures, not {} or {}", row.size,
                                     cells, kHalf, 2 * kHalf));
    return;
  }
  Run& run = run_for(row.source, builder, line, row.size);
  std::optional<int> root;
  if (rooted) {
    if (const auto value = finite(row.cells[0])) root = static_cast<int>(*value);
  }
  add_half(run, row, root, first, "out-of-place");
  if (cells == 2 * kHalf) add_half(run, row, root, first + kHalf, "in-place");
  if (cells == 2 * kTimedHalf) add_half(run, row, root, first + kTimedHalf, "in-place");
  if (cells == kHalf)
    builder.unread(line, fmt::format("the row of {} bytes has no in-place half", row.size));
}

bool NcclReader::take_row(const LogLine& line, std::string_view text, LogBuilder& builder) {
  std::vector<std::string_view> words = words_of(text);
  // -S: two words of a timestamp at the end.
  if (words.size() > 2 && words.back().size() == 8 && words.back()[2] == ':' &&
      words[words.size() - 2].size() == 10 && words[words.size() - 2][4] == '-') {
    words.resize(words.size() - 2);
  }
  const bool continues =
      pending_ && pending_->source == line.source && !words.empty() &&
      std::all_of(words.begin(), words.end(), [](std::string_view word) { return is_cell(word); });
  if (continues) {
    pending_->cells.insert(pending_->cells.end(), words.begin(), words.end());
    return true;
  }
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const auto size = whole(words[i]), count = whole(words[i + 1]);
    if (!size || !count || !is_nccl_type(words[i + 2])) continue;
    NcclRow row;
    row.size = *size;
    row.count = *count;
    row.type = words[i + 2];
    row.line = line.number;
    row.source = line.source;
    std::size_t next = i + 3;
    if (next < words.size() && is_nccl_redop(words[next])) row.redop = words[next++];
    // Without an operation it is nccl-tests' only behind its header: nccom-test's rows look alike.
    if (row.redop.empty() && !seen_header_) continue;
    bool plain = next < words.size() || !row.redop.empty();
    for (; next < words.size(); ++next) {
      plain = plain && is_cell(words[next]);
      if (is_cell(words[next])) row.cells.emplace_back(words[next]);
    }
    if (!plain) continue;
    finish_row(builder);
    pending_ = std::move(row);
    return true;
  }
  return false;
}

bool NcclReader::take(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  std::string_view text = line.text;
  bool noise = false;
  if (text.find("NCCL") != std::string_view::npos && finds(noise_, text, match)) {
    text = text.substr(0, match.begin);
    noise = true;
  }
  if (line.text.find('#') != std::string::npos || line.text.find("-tests") != std::string::npos ||
      line.text.find("nThread") != std::string::npos) {
    if (!noise && take_comment(line, builder)) return true;
  }
  if (!noise && text.find("_perf") != std::string_view::npos && finds(program_, text, match))
    program_seen_ = group(match, 1);
  if (!noise && text.find("Test ") != std::string_view::npos && finds(failure_, text, match))
    builder.broke(line);
  const bool row = take_row(line, text, builder);
  return row && !noise;  // NCCL's line is for the surroundings too
}

void NcclReader::infer_operation(Run& run) const {
  const Record* last = nullptr;
  bool no_in_place_check = false;
  for (const Record& record : run.records) {
    if (record.algbw.value_or(0) > 0 && record.busbw.value_or(0) > 0) last = &record;
    no_in_place_check = no_in_place_check || (record.placement == "in-place" && !record.wrong);
  }
  if (last == nullptr) return;
  const double factor = *last->busbw / *last->algbw;
  const bool rooted = last->root.value_or(-1) >= 0;
  if (!last->reduction.empty()) {
    run.operation = rooted ? "reduce" : factor > 0.995 ? "all_reduce" : "reduce_scatter";
    return;
  }
  if (rooted) {
    run.operation = factor > 0.995 ? "broadcast" : "";
    return;
  }
  run.operation = factor > 0.995 ? "sendrecv" : no_in_place_check ? "alltoall" : "all_gather";
}

void NcclReader::finish(LogBuilder& builder) {
  finish_row(builder);
  for (Run& run : builder.log.runs) {
    if (run.tool != "nccl-tests" && run.tool != "rccl-tests") continue;
    if (run.operation.empty()) run.operation = operation_name(program_seen_);
    if (run.operation.empty()) infer_operation(run);
    if (!run.devices.empty()) run.ranks = static_cast<int>(run.devices.size());
    for (Record& record : run.records) {
      record.operation = run.operation;
      record.ranks = ranks_of(run);
      record.nodes = nodes_of(run);
    }
  }
}

}  // namespace

std::unique_ptr<TextReader> make_nccl_reader() {
  return std::make_unique<NcclReader>();
}

}  // namespace muster::bench
