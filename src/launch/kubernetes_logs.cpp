#include "launch/kubernetes_logs.h"

#include <fmt/format.h>

#include "launch/process_wrapper.h"

namespace muster::launch {
namespace {

/// "[pod/x-worker-0/pytorch] 2026-11-30T17:01:24.123456789Z text".
struct LogLine {
  std::string_view pod, container, time, text;
};

bool read_log_line(std::string_view line, LogLine& read) {
  constexpr std::string_view kStart = "[pod/";
  if (!line.starts_with(kStart)) return false;
  line.remove_prefix(kStart.size());
  const auto close = line.find("] ");
  const auto slash = line.find('/');
  if (close == std::string_view::npos || slash == std::string_view::npos || slash > close)
    return false;
  read.pod = line.substr(0, slash);
  read.container = line.substr(slash + 1, close - slash - 1);
  line.remove_prefix(close + 2);
  const auto blank = line.find(' ');
  read.time = line.substr(0, blank);
  read.text = blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
  // A pod's name becomes the name of a file.
  return !read.pod.empty() && read.pod.find_first_of("./") == std::string_view::npos &&
         read.time.size() > 10 && read.time[4] == '-';
}

}  // namespace

const std::vector<std::string>& kube_log_options() {
  static const std::vector<std::string> kOptions = {
      "--all-containers=true", "--prefix=true", "--timestamps=true",
      "--ignore-errors=true",  "--tail=-1",     "--max-log-requests=5000"};
  return kOptions;
}

std::map<std::string, std::string> KubeLogs::take(std::string_view answer) {
  std::map<std::string, std::vector<LogLine>> by_container;
  while (!answer.empty()) {
    const auto end = answer.find('\n');
    LogLine line;
    if (read_log_line(answer.substr(0, end), line))
      by_container[fmt::format("{}/{}", line.pod, line.container)].push_back(line);
    if (end == std::string_view::npos) break;
    answer.remove_prefix(end + 1);
  }
  std::map<std::string, std::string> news;
  for (const auto& [container, lines] : by_container) {
    Place& place = places_[container];
    // Times are compared for being the same only: nodes write them in forms of their own.
    std::size_t first = 0;
    for (std::size_t i = 0; i < lines.size() && place.lines > 0; ++i) {
      if (lines[i].time != place.time) continue;
      first = i + place.lines;
      break;
    }
    for (std::size_t i = first; i < lines.size(); ++i) {
      const LogLine& line = lines[i];
      place.lines = line.time == place.time ? place.lines + 1 : 1;
      place.time = line.time;
      const auto mine = rank_of_line(line.text);
      std::string& file =
          news[mine ? fmt::format("rank-{}.log", mine->rank) : fmt::format("{}.log", line.pod)];
      file += mine ? mine->text : line.text;
      file += '\n';
    }
  }
  return news;
}

}  // namespace muster::launch
