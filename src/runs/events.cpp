#include "runs/events.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::runs {
namespace {

using nlohmann::json;

/// Replaces each figure that is not finite by null; `path` names the place in messages ("loss",
/// "peak.0").
void replace_nonfinite(json& value, const std::string& path, json& replaced) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    value = nullptr;
    replaced.push_back(path);
  } else if (value.is_structured()) {
    for (auto& item : value.items()) {
      replace_nonfinite(item.value(), path.empty() ? item.key() : path + "." + item.key(),
                        replaced);
    }
  }
}

/// Cuts what a killed writer left after its last whole line, and counts the whole ones.
long long take_up(int fd, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto end = text.rfind('\n');
  const std::size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole != text.size() && ::ftruncate(fd, static_cast<off_t>(whole)) != 0) {
    return -1;
  }
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

std::string metrics_file(const std::string& run_directory, int rank) {
  return fmt::format("{}/metrics/rank-{:05d}.jsonl", run_directory, rank);
}

EventWriter::EventWriter(std::string path) : path_(std::move(path)) {
  if (path_.empty()) {
    return;
  }
  std::error_code ignored;  // open() below says what is wrong
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ >= 0) {
    next_ = take_up(fd_, path_);
  }
}

EventWriter::~EventWriter() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

bool EventWriter::write(json event) {
  if (path_.empty()) {
    return true;
  }
  if (fd_ < 0 || next_ < 0) {
    return false;
  }
  json replaced = json::array();
  replace_nonfinite(event, "", replaced);
  if (!replaced.empty()) {
    event["nonfinite"] = std::move(replaced);
  }
  event["seq"] = next_;
  const std::string line = event.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";

  const off_t before = ::lseek(fd_, 0, SEEK_END);
  ssize_t written = 0;
  do {
    written = ::write(fd_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(line.size())) {
    ++next_;
    return true;
  }
  // A full disk takes part of a line: take that part back, so that the file stays whole lines.
  if (written > 0 && ::ftruncate(fd_, before) != 0) {
    next_ = -1;
  }
  return false;
}

EventLines read_event_lines(const std::string& text, const std::string& file) {
  EventLines result;
  int line = 0;
  bool numbered = false;
  for (std::size_t begin = 0; begin < text.size();) {
    ++line;
    const auto end = text.find('\n', begin);
    const bool torn = end == std::string::npos;
    const auto size = (torn ? text.size() : end) - begin;
    json event =
        json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                    text.begin() + static_cast<std::ptrdiff_t>(begin + size), nullptr, false);
    begin += size + 1;
    const auto bad = [&](const char* rule, std::string message, std::string hint) {
      result.findings.push_back(
          error_at({file, line, 1}, rule, std::move(message), std::move(hint)));
    };
    const bool is_event =
        event.is_object() && event.contains("event") && event["event"].is_string();
    if (!is_event) {
      if (!torn) {
        bad("events-line",
            event.is_discarded() ? "this line is not JSON" : "this line is not an event",
            "an object with a text \"event\" on one line");
      }
      continue;
    }
    const auto seq = event.find("seq");
    numbered = numbered || seq != event.end();
    if (numbered &&
        (seq == event.end() || !seq->is_number_integer() || seq->get<long long>() != line - 1)) {
      bad("events-sequence", "a line before this one is missing, or this one was added",
          fmt::format("\"seq\": {} on line {}", line - 1, line));
      continue;
    }
    result.events.push_back(std::move(event));
  }
  return result;
}

Result<std::vector<json>> parse_events(const std::string& text, const std::string& file) {
  EventLines lines = read_event_lines(text, file);
  if (!lines.findings.empty()) {
    return Failure(std::move(lines.findings));
  }
  return std::move(lines.events);
}

}  // namespace muster::runs
