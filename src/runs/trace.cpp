#include "runs/trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::runs {
namespace {

using nlohmann::json;

constexpr int kProgramTrack = 1;
constexpr int kOtherTrack = 2;
constexpr int kFirstLane = 10;
constexpr const char* kTool = "muster-train";
constexpr std::array<const char*, 4> kCategories = {"step", "phase", "wait", "communication"};
/// 2^53 ns are 104 days: longer traces there are none, and a double holds every one of them.
constexpr double kLongest = 9e12;  // microseconds

std::string quoted(const std::string& text) {
  return json(text).dump(-1, ' ', true, json::error_handler_t::replace);
}

/// Microseconds with all nanoseconds.
std::string microseconds(std::int64_t nanoseconds) {
  const std::int64_t size = std::abs(nanoseconds);
  return fmt::format("{}{}.{:03}", nanoseconds < 0 ? "-" : "", size / 1000, size % 1000);
}

/// The lowest track on which nothing is under way any more.
class Lanes {
 public:
  int lane_for(const TraceSpan& span) {
    std::size_t lane = 0;
    while (lane < free_at_.size() && free_at_[lane] > span.begin) ++lane;
    if (lane == free_at_.size()) free_at_.push_back(0);
    free_at_[lane] = span.end;
    return kFirstLane + static_cast<int>(lane);
  }
  int count() const { return static_cast<int>(free_at_.size()); }

 private:
  std::vector<std::int64_t> free_at_;
};

std::string name_event(int rank, const char* what, std::optional<int> track,
                       const std::string& name) {
  return fmt::format(R"({{"ph":"M","pid":{},{}"name":"{}","args":{{"name":{}}}}})", rank,
                     track ? fmt::format("\"tid\":{},", *track) : "", what, quoted(name));
}

void add_events(const RankTrace& trace, std::vector<std::string>& events) {
  const int rank = trace.rank;
  events.push_back(name_event(rank, "process_name", std::nullopt,
                              fmt::format("rank {} on {}", rank, trace.host)));
  events.push_back(fmt::format(
      R"({{"ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}}}})", rank));
  events.push_back(name_event(rank, "thread_name", kProgramTrack, "program"));
  Lanes lanes;
  bool others = false;
  std::vector<std::string> spans;
  for (const TraceSpan& span : trace.spans) {
    int track = kProgramTrack;
    if (span.kind == TraceSpan::Kind::kOperation) track = lanes.lane_for(span);
    if (span.kind == TraceSpan::Kind::kWait && span.other_thread) {
      track = kOtherTrack;
      others = true;
    }
    std::string more = fmt::format("\"step\":{}", span.step);
    if (!span.group.empty())
      more += fmt::format(R"(,"group":{},"number":{},"bytes":{})", quoted(span.group), span.number,
                          span.bytes);
    spans.push_back(fmt::format(
        R"({{"ph":"X","pid":{},"tid":{},"cat":"{}","name":{},"ts":{},"dur":{},"args":{{{}}}}})",
        rank, track, kCategories[static_cast<std::size_t>(span.kind)], quoted(span.name),
        microseconds(span.begin), microseconds(span.end - span.begin), more));
  }
  if (others) events.push_back(name_event(rank, "thread_name", kOtherTrack, "other threads"));
  for (int lane = 0; lane < lanes.count(); ++lane)
    events.push_back(name_event(rank, "thread_name", kFirstLane + lane,
                                fmt::format("communication {}", lane + 1)));
  events.insert(events.end(), spans.begin(), spans.end());
}

std::string document(const json& other, const std::vector<std::string>& events) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"otherData\":" +
                     other.dump(-1, ' ', true, json::error_handler_t::replace) +
                     ",\"traceEvents\":[\n";
  for (std::size_t i = 0; i < events.size(); ++i)
    text += events[i] + (i + 1 < events.size() ? ",\n" : "\n");
  return text + "]}\n";
}

class Reader {
 public:
  Reader(const json& document, std::string file) : document_(document), file_(std::move(file)) {}

  Result<RankTrace> read() {
    const auto other = document_.find("otherData");
    const auto events = document_.find("traceEvents");
    if (other == document_.end() || !other->is_object() || events == document_.end() ||
        !events->is_array() || text(*other, "tool") != kTool)
      return wrong("this is no trace of muster-train",
                   "a file that `muster-train train --trace DIR` has written");
    if (whole(*other, "schema_version") != 1)
      return wrong("this trace has another schema than 1", "a trace of this version of Muster");
    trace_.rank = static_cast<int>(whole(*other, "rank").value_or(-1));
    trace_.world = static_cast<int>(whole(*other, "world").value_or(0));
    if (trace_.rank < 0 || trace_.rank >= trace_.world)
      return wrong("it does not say which rank of how many it is", "otherData.rank and .world");
    trace_.host = text(*other, "host");
    trace_.pid = static_cast<int>(whole(*other, "pid").value_or(0));
    trace_.clock_offset = whole(*other, "clock_offset_ns").value_or(0);
    trace_.clock_uncertainty = whole(*other, "clock_uncertainty_ns").value_or(0);
    const auto cut = other->find("cut");
    trace_.cut = cut != other->end() && cut->is_boolean() && cut->get<bool>();
    for (std::size_t i = 0; i < events->size(); ++i) {
      if (auto problem = take((*events)[i]); !problem.empty())
        return wrong(fmt::format("event {}: {}", i, problem), "the file as muster-train wrote it");
    }
    sort_spans(trace_.spans);
    if (auto problem = check_nesting(); !problem.empty())
      return wrong(problem, "the file as muster-train wrote it");
    return std::move(trace_);
  }

 private:
  Failure wrong(const std::string& message, const char* hint) const {
    return Failure(error_at({file_, 1, 1}, "trace", message, hint));
  }

  static std::string text(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  }
  static std::optional<std::int64_t> whole(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<std::int64_t>();
  }
  static std::optional<std::int64_t> nanoseconds(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number()) return std::nullopt;
    const double value = found->get<double>();
    if (!std::isfinite(value) || std::abs(value) > kLongest) return std::nullopt;
    return std::llround(value * 1000);
  }

  /// What is wrong with the event; empty: nothing.
  std::string take(const json& event) {
    if (!event.is_object()) return "it is no object";
    const std::string phase = text(event, "ph");
    if (phase == "M") return {};
    if (phase != "X") return fmt::format("its phase \"{}\" is neither X nor M", phase);
    const std::string category = text(event, "cat");
    const auto* known = std::find(kCategories.begin(), kCategories.end(), category);
    if (known == kCategories.end())
      return fmt::format("its category \"{}\" is not known", category);
    const auto begin = nanoseconds(event, "ts");
    const auto length = nanoseconds(event, "dur");
    if (!begin || !length) return "it has no time, or none that can be";
    if (*length < 0) return fmt::format("its duration is {} ns", *length);
    const auto track = whole(event, "tid");
    if (!track) return "it has no track";
    TraceSpan span;
    span.kind = static_cast<TraceSpan::Kind>(known - kCategories.begin());
    span.name = text(event, "name");
    span.begin = *begin;
    span.end = *begin + *length;
    span.other_thread = *track == kOtherTrack;
    if (const auto more = event.find("args"); more != event.end() && more->is_object()) {
      span.step = whole(*more, "step").value_or(0);
      span.group = text(*more, "group");
      span.number =
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, whole(*more, "number").value_or(0)));
      span.bytes = whole(*more, "bytes").value_or(0);
    }
    tracks_[*track].push_back(span);
    trace_.spans.push_back(std::move(span));
    return {};
  }

  /// On a track every span lies within another or after it.
  std::string check_nesting() {
    for (auto& [track, spans] : tracks_) {
      sort_spans(spans);
      std::vector<const TraceSpan*> open;
      for (const TraceSpan& span : spans) {
        while (!open.empty() && open.back()->end <= span.begin) open.pop_back();
        if (!open.empty() && span.end > open.back()->end)
          return fmt::format("on track {} \"{}\" ends after \"{}\", in which it began", track,
                             span.name, open.back()->name);
        if (!open.empty() && track >= kFirstLane)
          return fmt::format("on track {} two operations are under way at once", track);
        if (!open.empty() && span.kind == TraceSpan::Kind::kStep)
          return fmt::format("\"{}\" begins within \"{}\"", span.name, open.back()->name);
        open.push_back(&span);
      }
    }
    return {};
  }

  const json& document_;
  std::string file_;
  RankTrace trace_;
  std::map<std::int64_t, std::vector<TraceSpan>> tracks_;
};

}  // namespace

std::string trace_file(const std::string& directory, int rank) {
  return fmt::format("{}/rank-{:05}.trace.json", directory, rank);
}

void sort_spans(std::vector<TraceSpan>& spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const TraceSpan& a, const TraceSpan& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end != b.end) return a.end > b.end;
    return a.kind < b.kind;
  });
}

std::string trace_text(const RankTrace& trace) {
  const json other = {{"schema_version", 1},
                      {"tool", kTool},
                      {"rank", trace.rank},
                      {"world", trace.world},
                      {"host", trace.host},
                      {"pid", trace.pid},
                      {"clock_offset_ns", trace.clock_offset},
                      {"clock_uncertainty_ns", trace.clock_uncertainty},
                      {"cut", trace.cut}};
  std::vector<std::string> events;
  add_events(trace, events);
  return document(other, events);
}

std::string merged_text(const std::vector<RankTrace>& traces) {
  std::vector<std::string> events;
  for (const RankTrace& trace : traces) add_events(trace, events);
  return document({{"ranks", traces.size()}, {"tool", "muster profile analyse"}}, events);
}

Result<RankTrace> parse_trace(const std::string& text, const std::string& file) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object())
    return Failure(error_at({file, 1, 1}, "trace", "this is no JSON object, or not all of it",
                            "the file as muster-train wrote it"));
  return Reader(document, file).read();
}

}  // namespace muster::runs
