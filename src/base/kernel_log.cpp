#include "base/kernel_log.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace muster {
namespace {

constexpr std::array<std::string_view, 8> kLevels = {"emerg", "alert",  "crit", "err",
                                                     "warn",  "notice", "info", "debug"};

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string without_escapes(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 2;
    if (text.substr(i, 2) == "\\x" && i + 4 <= text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      result += static_cast<char>(value);
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

/// "priority,sequence,microseconds,flags[,…];text"
std::optional<KernelMessage> parse_kmsg(std::string_view line) {
  const std::size_t semicolon = line.find(';');
  if (semicolon == std::string_view::npos) return std::nullopt;
  std::array<std::string_view, 3> fields;
  std::string_view head = line.substr(0, semicolon);
  for (std::string_view& field : fields) {
    const std::size_t comma = head.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    field = head.substr(0, comma);
    head.remove_prefix(comma + 1);
  }
  const auto priority = number_of<unsigned>(fields[0]);
  const auto micros = number_of<std::uint64_t>(fields[2]);
  if (!priority || !number_of<std::uint64_t>(fields[1]) || !micros) return std::nullopt;
  KernelMessage message;
  message.seconds = static_cast<double>(*micros) / 1e6;
  message.level = kLevels[*priority & 7U];
  message.text = without_escapes(line.substr(semicolon + 1));
  return message;
}

/// The time in front of a dmesg line, taken off it: "[ 12.345678]", "[Mon Nov 30 09:48:00 2026]",
/// "2026-11-30T09:48:00,1+00:00".
bool take_time(std::string_view& line, KernelMessage& message) {
  if (!line.empty() && line[0] == '[') {
    const std::size_t close = line.find(']');
    if (close == std::string_view::npos) return false;
    const std::string_view inside = trimmed(line.substr(1, close - 1));
    message.seconds = number_of<double>(inside);
    // Without a figure it must be a date: weekday, month, day, time, year.
    if (!message.seconds && std::count(inside.begin(), inside.end(), ':') != 2) return false;
    if (!message.seconds) message.time = inside;
    line.remove_prefix(close + 1);
    return true;
  }
  const bool iso =
      line.size() > 19 && line[4] == '-' && line[7] == '-' && line[10] == 'T' && line[13] == ':';
  const std::size_t space = line.find(' ');
  if (!iso || space == std::string_view::npos) return false;
  message.time = line.substr(0, space);
  line.remove_prefix(space);
  return true;
}

std::optional<KernelMessage> parse_dmesg(std::string_view line) {
  KernelMessage message;
  if (!line.empty() && line[0] == '<') {  // "<6>"
    const std::size_t close = line.find('>');
    const auto priority = close == std::string_view::npos
                              ? std::nullopt
                              : number_of<unsigned>(line.substr(1, close - 1));
    if (!priority) return std::nullopt;
    message.level = kLevels[*priority & 7U];
    line.remove_prefix(close + 1);
  } else if (const std::size_t colon = line.find(':');
             colon != std::string_view::npos && line[0] != '[') {
    const std::size_t second = line.find(':', colon + 1);  // "kern  :info  : "
    const std::string_view level = second == std::string_view::npos
                                       ? std::string_view()
                                       : trimmed(line.substr(colon + 1, second - colon - 1));
    if (std::find(kLevels.begin(), kLevels.end(), level) != kLevels.end()) {
      message.level = level;
      line = trimmed(line.substr(second + 1));
    }
  }
  if (!take_time(line, message)) return std::nullopt;
  if (!line.empty() && line[0] == ' ') line.remove_prefix(1);
  message.text = line;
  return message;
}

}  // namespace

KernelMessages parse_kernel_log(std::string_view text) {
  KernelMessages log;
  bool after_kmsg = false;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, end - start);
    start = end + 1;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    if (after_kmsg && line[0] == ' ' && line.find('=') != std::string_view::npos)
      continue;  // KEY=value of the last one
    if (auto message = parse_kmsg(line)) {
      log.messages.push_back(std::move(*message));
      after_kmsg = true;
      continue;
    }
    after_kmsg = false;
    if (auto message = parse_dmesg(line)) {
      log.messages.push_back(std::move(*message));
    } else {
      log.not_understood.emplace_back(line);
    }
  }
  return log;
}

}  // namespace muster
