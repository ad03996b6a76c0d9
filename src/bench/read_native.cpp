// The tables of muster-bench that are not nccl-tests': expert parallelism and one-sided operations.
#include <algorithm>

#include <fmt/format.h>

#include "base/words.h"
#include "bench/reader.h"

namespace muster::bench {
namespace {

class NativeReader : public TextReader {
 public:
  bool take(const LogLine& line, LogBuilder& builder) override;

 private:
  bool take_comment(const LogLine& line, Run& run);
  bool take_row(const LogLine& line, LogBuilder& builder);

  const Regex& version_ = pattern(R"(^# muster-bench version (\S+))");
  const Regex& starting_ =
      pattern(R"(^# (Expert-parallel|One-sided) test starting: (\w+)(?: (\w+))?)");
  const Regex& pair_ = pattern(R"(([\w-]+(?: iters)?): (\S+))");
  const Regex& device_ = pattern(
      R"(^# +Rank +(\d+) +Group +\d+ +Pid +(\d+) +on +(\S+) +device +\d+ +\[[^\]]*\] *(.*))");
  const Regex& wrong_ =
      pattern(R"(^# (?:Out of bounds values|Wrong bytes or words) : (\d+) (OK|FAILED|unchecked))");

  std::string version_seen_;
  std::string operation_, variant_;  ///< of one-sided rows
  std::optional<std::size_t> run_;
  bool expert_ = false;
};

bool NativeReader::take(const LogLine& line, LogBuilder& builder) {
  Regex::Match match;
  if (finds(version_, line.text, match)) {
    version_seen_ = group(match, 1);
    run_.reset();
    return false;  // a collective's table is nccl-tests'
  }
  if (finds(starting_, line.text, match)) {
    Run& run = builder.open("muster-bench", line);
    run.version = version_seen_;
    run.has_summary = true;
    expert_ = group(match, 1) == "Expert-parallel";
    operation_ = group(match, 2);
    variant_ = group(match, 3);
    if (!expert_) run.operation = operation_;
    run_ = builder.log.runs.size() - 1;
    return true;
  }
  if (!run_) return false;
  if (line.text.starts_with("#")) return take_comment(line, builder.log.runs[*run_]);
  return take_row(line, builder);
}

bool NativeReader::take_comment(const LogLine& line, Run& run) {
  Regex::Match match;
  if (line.text.starts_with("# ranks: ")) {
    std::size_t from = 0;
    while (pair_.search(line.text, from, match) == Regex::Found::kYes) {
      const std::string name(group(match, 1)), value(group(match, 2));
      from = match.end;
      const auto number = whole(value);
      if (name == "ranks" && number && *number < 1000000000)
        run.ranks = static_cast<int>(*number);
      else if (name == "nodes" && number && *number < 1000000000)
        run.nodes = static_cast<int>(*number);
      else if (!name.ends_with(" iters"))
        run.settings[name] = value;
    }
    return true;
  }
  if (finds(device_, line.text, match)) {
    run.devices.push_back({static_cast<int>(whole(group(match, 1)).value_or(0)),
                           std::string(group(match, 3)), std::string(group(match, 2)),
                           std::string(trimmed(group(match, 4))), line.number});
    return true;
  }
  if (finds(wrong_, line.text, match)) {
    const auto count = finite(group(match, 1));
    if (group(match, 2) != "unchecked") run.out_of_bounds = count;
    if ((group(match, 2) == "FAILED" || count.value_or(0) > 0) && run.wrong.empty())
      run.wrong.push_back({line.number, std::string(trimmed(line.text))});
    run.ended = true;
    return true;
  }
  return line.text.starts_with("# warmup iters:") || line.text.starts_with("# Using devices") ||
         line.text.starts_with("# Expert-parallel") || line.text.starts_with("#operation") ||
         line.text.find("size(B)") != std::string::npos || trimmed(line.text) == "#";
}

bool NativeReader::take_row(const LogLine& line, LogBuilder& builder) {
  Run& run = builder.log.runs[*run_];
  const auto words = words_of(line.text);
  if (words.empty()) return false;
  constexpr std::size_t kExpertCells = 11, kOneSidedCells = 6;
  const bool row = expert_
                       ? words[0] == "dispatch" || words[0] == "combine" || words[0] == "alltoallv"
                       : whole(words[0]).has_value();
  if (run.ended || !row) return false;
  if (words.size() != (expert_ ? kExpertCells : kOneSidedCells)) {
    builder.unread(line, "a row that is cut off");
    return true;
  }
  Record record;
  record.tool = run.tool;
  record.version = run.version;
  record.line = line.number;
  const std::string_view wrong = words.back();
  if (wrong != "N/A") record.wrong = finite(wrong);
  if (expert_) {
    record.operation = words[0];
    record.type = type_name(words[1]);
    record.variant = words[2];
    if (record.variant.starts_with("rank:")) record.variant[4] = ' ';
    record.size = whole(words[3]);
    record.count = whole(words[4]);
    record.time = finite(words[5]);
    record.algbw = finite(words[9]);
  } else {
    record.operation = operation_;
    record.variant = variant_;
    record.size = whole(words[0]);
    record.time = finite(words[1]);
    record.algbw = finite(words[2]);
  }
  if (!record.size || !record.time || !record.algbw || (wrong != "N/A" && !record.wrong)) {
    builder.unread(line, "a row with a figure that is no number");
    return true;
  }
  if (record.wrong.value_or(0) > 0)
    run.wrong.push_back(
        {line.number,
         fmt::format("{} {}: {:g} wrong values", record.operation,
                     expert_ ? record.variant : fmt::format("{} B", *record.size), *record.wrong)});
  run.records.push_back(std::move(record));
  return true;
}

}  // namespace

std::unique_ptr<TextReader> make_native_reader() {
  return std::make_unique<NativeReader>();
}

}  // namespace muster::bench
