#include "runs/log_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace muster::runs {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestLine = 65536;
constexpr std::size_t kLongestQuote = 160;
/// A step number beyond this is no step.
constexpr double kLastStep = 1e15;

std::optional<double> figure(const LogFields& fields, const char* name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::nullopt : log_number(found->second);
}

std::optional<long long> whole(const LogFields& fields, const char* name) {
  const auto value = figure(fields, name);
  if (!value || !std::isfinite(*value) || *value < 0 || *value > kLastStep) return std::nullopt;
  return static_cast<long long>(*value);
}

/// Speaks of a loss with a figure, whatever form it has.
bool speaks_of_loss(std::string_view text) {
  static const Result<Regex> kLoss =
      Regex::compile(R"((?i)loss\b['"]?\s*[:=|]?\s*['"]?(?:[-+]?\d|nan\b|inf\b))");
  Regex::Match match;
  return kLoss->search(text, 0, match) == Regex::Found::kYes;
}

/// The words after a marker, as key=value.
std::map<std::string, std::string> pairs_of(std::string_view text) {
  std::map<std::string, std::string> pairs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (const auto equals = word.find('='); equals != std::string_view::npos)
      pairs[std::string(word.substr(0, equals))] = word.substr(equals + 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pairs;
}

std::optional<int> number_of(const std::map<std::string, std::string>& pairs, const char* key) {
  const auto found = pairs.find(key);
  if (found == pairs.end()) return std::nullopt;
  int value = 0;
  const char* end = found->second.data() + found->second.size();
  const auto read = std::from_chars(found->second.data(), end, value);
  return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

constexpr int kSignalBase = 128;
constexpr int kTerminated = kSignalBase + 15;

json error_of_exit(int code) {
  const bool by_signal = code > kSignalBase && code < kSignalBase + 65;
  // Who is asked to end did not fail by itself.
  return {
      {"event", "error"},
      {"kind", code == kTerminated ? "terminated" : "exit"},
      {"message", by_signal ? fmt::format("its process was ended by signal {}", code - kSignalBase)
                            : fmt::format("its process ended with {}", code)}};
}

void copy_figures(const LogFields& fields, const LogContext& context, json& event) {
  for (const char* name :
       {"loss", "lr", "grad_norm", "samples_per_second", "tokens", "tokens_per_second", "mfu"}) {
    if (const auto value = figure(fields, name)) event[name] = *value;
  }
  if (const auto seconds = figure(fields, "seconds")) event["seconds"] = *seconds;
  if (const auto value = figure(fields, "milliseconds")) event["seconds"] = *value / 1e3;
  if (const auto value = figure(fields, "tflops")) event["flops_per_second"] = *value * 1e12;
  if (const auto value = figure(fields, "mfu_percent")) event["mfu"] = *value / 100;
  if (event.contains("tokens_per_second")) return;
  if (const auto value = figure(fields, "tokens_per_second_rank")) {
    event["tokens_per_second"] = *value * context.world;
    return;
  }
  const auto batch = figure(fields, "global_batch");
  const double seconds = event.value("seconds", 0.0);
  if (batch && context.seq_len && seconds > 0)
    event["tokens_per_second"] = *batch * *context.seq_len / seconds;
}

}  // namespace

void LogReader::feed(std::string_view piece, std::vector<RankedEvent>& events) {
  while (!piece.empty()) {
    const std::size_t end = piece.find_first_of("\n\r");
    const std::string_view part = piece.substr(0, end);
    if (rest_.size() + part.size() <= kLongestLine) {
      rest_ += part;
    } else {
      overlong_ = true;
      rest_ += part.substr(0, kLongestLine - rest_.size());
    }
    if (end == std::string_view::npos) return;
    if (overlong_) ++cut_;
    if (!rest_.empty()) take_line(rest_, events);
    rest_.clear();
    overlong_ = false;
    piece.remove_prefix(end + 1);
  }
}

void LogReader::finish(std::vector<RankedEvent>& events) {
  if (!rest_.empty()) {
    ++lines_;
    torn_ = true;
    rest_.clear();
  }
  json log = {{"event", "log"}, {"lines", lines_}, {"steps", steps_}, {"unread", unread_}};
  if (!first_unread_.empty()) log["first_unread"] = first_unread_;
  if (torn_) log["torn"] = true;
  if (cut_ > 0) log["cut"] = cut_;
  if (context_.asked != nullptr) log["asked_pattern"] = asked_matched_;
  log["patterns"] = by_pattern_;
  events.push_back({context_.rank.value_or(0), std::move(log)});
}

void LogReader::take_line(std::string_view line, std::vector<RankedEvent>& events) {
  ++lines_;
  const PlainLine plain = plain_line(line);
  const int rank = context_.rank.value_or(plain.rank.value_or(0));
  if (take_process_line(plain.text, rank, events)) return;

  const Asked asked = take_asked(plain.text, rank, events);
  bool read = asked != Asked::kNo;
  LogFields fields;
  std::size_t from = 0;
  while (const CompiledPattern* pattern = patterns_.match(plain.text, from, fields, from)) {
    const bool twice = asked == Asked::kStep && pattern->row.kind == facts::LineKind::kStep;
    if (!twice) take_match(*pattern, fields, rank, events);
    read = true;
    if (from >= plain.text.size()) break;
  }
  if (read || !speaks_of_loss(plain.text)) return;
  ++unread_;
  if (first_unread_.empty()) {
    first_unread_ = plain.text.substr(0, kLongestQuote);
    // What is not UTF-8 can't be kept as JSON.
    std::replace_if(
        first_unread_.begin(), first_unread_.end(),
        [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
}

bool LogReader::take_process_line(const std::string& text, int rank,
                                  std::vector<RankedEvent>& events) {
  const std::string_view view = text;
  if (const std::string_view marker = ProcessLines::kStart; view.starts_with(marker)) {
    const auto pairs = pairs_of(view.substr(marker.size()));
    const auto says = number_of(pairs, "rank");
    if (!context_.rank && says) rank = *says;
    Progress& progress = progress_[rank];
    const long long first = progress.first;
    const int attempts = progress.attempts + 1;
    progress = Progress();
    progress.started = true;
    progress.attempts = attempts;
    progress.first = first;
    json start = {{"event", "start"}, {"schema_version", 1}, {"source", "log"}};
    for (const char* key : {"rank", "world", "local_rank", "pid", "restart"}) {
      if (const auto value = number_of(pairs, key)) start[key] = *value;
    }
    if (const auto host = pairs.find("host"); host != pairs.end()) start["host"] = host->second;
    events.push_back({rank, std::move(start)});
    return true;
  }
  if (const std::string_view marker = ProcessLines::kEnd; view.starts_with(marker)) {
    const auto pairs = pairs_of(view.substr(marker.size()));
    if (const auto says = number_of(pairs, "rank"); !context_.rank && says) rank = *says;
    const auto code = number_of(pairs, "code");
    if (code && *code != 0) events.push_back({rank, error_of_exit(*code)});
    json end = {{"event", "end"}, {"step", progress_[rank].last}};
    if (code) {
      end["exit_code"] = *code;
      end["reason"] = *code == 0 ? "complete" : "error";
    }
    events.push_back({rank, std::move(end)});
    return true;
  }
  return false;
}

LogReader::Asked LogReader::take_asked(const std::string& text, int rank,
                                       std::vector<RankedEvent>& events) {
  if (context_.asked == nullptr) return Asked::kNo;
  Regex::Match match;
  if (context_.asked->search(text, 0, match) != Regex::Found::kYes) return Asked::kNo;
  asked_matched_ = true;
  LogFields fields = fields_of(*context_.asked, match);
  if (!fields.contains("loss") && match.groups.size() > 1 && match.groups[1])
    fields["loss"] = *match.groups[1];
  if (!figure(fields, "loss")) return Asked::kSeen;  // a line that must be there, and no more
  // Patterns of the facts know more of a line; where they read steps, or will read this one, a
  // pattern without a number of its own would count them again.
  if (!fields.contains("step") && !fields.contains("epoch")) {
    LogFields others;
    std::size_t end = 0;
    const CompiledPattern* known = patterns_.match(text, 0, others, end);
    if (numbered_ || (known != nullptr && (known->row.kind == facts::LineKind::kStep ||
                                           known->row.kind == facts::LineKind::kEval))) {
      return Asked::kSeen;
    }
  }
  ++by_pattern_["expect.pattern"];
  take_step(fields, 1, rank, events);
  return Asked::kStep;
}

std::optional<long long> LogReader::step_of(const LogFields& fields, int counts_from) const {
  if (const auto step = whole(fields, "step")) return *step + 1 - counts_from;
  const auto epoch = whole(fields, "epoch");
  if (!epoch) return std::nullopt;
  return (*epoch + 1 - counts_from) * std::max(whole(fields, "epoch_steps").value_or(1), 1LL);
}

void LogReader::note_rank(const LogFields& fields, int rank, std::vector<RankedEvent>& events) {
  const auto says = whole(fields, "rank");
  if (!context_.rank || !says || *says == rank) return;
  Progress& progress = progress_[rank];
  if (progress.claimed) return;
  progress.claimed = static_cast<int>(*says);
  events.push_back({rank, {{"event", "joined"}, {"rank", *says}}});
}

void LogReader::take_match(const CompiledPattern& pattern, const LogFields& fields, int rank,
                           std::vector<RankedEvent>& events) {
  ++by_pattern_[pattern.row.name];
  if (!context_.rank) {
    if (const auto says = whole(fields, "rank")) rank = static_cast<int>(*says);
  }
  note_rank(fields, rank, events);
  switch (pattern.row.kind) {
    case facts::LineKind::kStep:
      numbered_ = true;
      take_step(fields, pattern.row.counts_from, rank, events);
      return;
    case facts::LineKind::kEval: {
      json eval = {
          {"event", "eval"},
          {"step", step_of(fields, pattern.row.counts_from).value_or(progress_[rank].last)}};
      if (const auto loss = figure(fields, "loss")) eval["loss"] = *loss;
      events.push_back({rank, std::move(eval)});
      return;
    }
    case facts::LineKind::kJoined:
    case facts::LineKind::kFabric:
      take_joined(pattern, fields, rank, events);
      return;
    case facts::LineKind::kResume:
    case facts::LineKind::kCheckpoint: {
      const bool resume = pattern.row.kind == facts::LineKind::kResume;
      Progress& progress = progress_[rank];
      json event = {{"event", resume ? "resume" : "checkpoint"},
                    {"step", step_of(fields, pattern.row.counts_from).value_or(progress.last)}};
      if (const auto path = fields.find("path"); path != fields.end()) event["path"] = path->second;
      if (resume) progress.resumed = true;
      events.push_back({rank, std::move(event)});
      return;
    }
  }
}

void LogReader::take_joined(const CompiledPattern& pattern, const LogFields& fields, int rank,
                            std::vector<RankedEvent>& events) {
  Progress& progress = progress_[rank];
  json joined = {{"event", "joined"}, {"by", pattern.row.name}};
  const char* what = pattern.row.kind == facts::LineKind::kFabric ? "fabric" : "transport";
  if (!pattern.row.value.empty()) joined[what] = pattern.row.value;
  if (const auto says = fields.find("transport"); says != fields.end())
    joined["transport"] = says->second;
  long long world = whole(fields, "world").value_or(0);
  if (const auto peers = whole(fields, "peers")) world = *peers + 1;
  // Groups within the world have a world of their own: the largest is the one that counts.
  if (pattern.row.kind == facts::LineKind::kJoined) {
    if (world <= progress.world) return;
    progress.world = static_cast<int>(world);
    joined["world"] = world;
  }
  events.push_back({rank, std::move(joined)});
}

void LogReader::take_step(const LogFields& fields, int counts_from, int rank,
                          std::vector<RankedEvent>& events) {
  Progress& progress = progress_[rank];
  json event = {{"event", "step"}};
  copy_figures(fields, context_, event);
  const auto loss = figure(fields, "loss");
  const auto says = step_of(fields, counts_from);
  if (says && !progress.fresh && *says <= progress.line_step) {
    // The same line twice (two streams into one file), or the next epoch counts from its start.
    if (*says == progress.line_step && loss == progress.last_loss) return;
    progress.base = progress.last;
  }
  const long long step = says ? progress.base + *says : progress.last + 1;
  if (!says) event["counted"] = true;
  event["step"] = step;
  if (progress.fresh) {
    if (progress.first == 0) {
      progress.first = step;
    } else if (!progress.resumed && step > progress.first) {
      // A restart whose first record is later than that of the first start has been taken up.
      events.push_back(
          {rank, {{"event", "resume"}, {"step", step - progress.first}, {"inferred", true}}});
    }
  }
  progress.fresh = false;
  progress.line_step = says.value_or(step);
  progress.last = step;
  progress.last_loss = loss;
  ++steps_;
  events.push_back({rank, std::move(event)});
}

}  // namespace muster::runs
