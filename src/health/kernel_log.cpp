// The kernel's log of the last boot: errors of GPUs and NVSwitches, and other lines that say that a
// node is not well.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/kernel_log.h"
#include "base/words.h"
#include "health/readers.h"
#include "runs/log_patterns.h"

namespace muster::health {
namespace {

/// One message, whatever the log's form.
struct Message {
  std::string text;
  std::string node;            ///< when the log says so
  std::optional<double> time;  ///< seconds, of the boot or of the epoch; one log uses one of them
  int number = 0;              ///< line
  bool understood = false;     ///< the line has the form of a kernel's log
};

/// "2026-11-30T09:48:00" (also with a blank), "Mon Nov 30 09:48:00 2026", "Nov 30 09:48:00".
std::optional<double> wall_clock(const std::string& text) {
  std::tm when{};
  for (const char* form : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%a %b %d %H:%M:%S %Y"}) {
    when = {};
    if (strptime(text.c_str(), form, &when) != nullptr) return static_cast<double>(timegm(&when));
  }
  // Without a year any will do: only differences count. A leap year, so that every day exists.
  when = {};
  if (strptime(("2024 " + text).c_str(), "%Y %b %d %H:%M:%S", &when) != nullptr)
    return static_cast<double>(timegm(&when));
  return std::nullopt;
}

/// journalctl -o json: an object a line.
std::optional<Message> json_message(std::string_view line) {
  if (line.empty() || line.front() != '{') return std::nullopt;
  const auto entry = nlohmann::json::parse(line, nullptr, false);
  if (!entry.is_object() || !entry.contains("MESSAGE") || !entry["MESSAGE"].is_string())
    return std::nullopt;
  Message message;
  message.text = entry["MESSAGE"];
  message.understood = true;
  if (const auto host = entry.find("_HOSTNAME"); host != entry.end() && host->is_string())
    message.node = *host;
  if (const auto time = entry.find("__REALTIME_TIMESTAMP");
      time != entry.end() && time->is_string()) {
    if (const auto micros = whole(time->get<std::string>()))
      message.time = static_cast<double>(*micros) / 1e6;
  }
  return message;
}

/// journalctl's and syslog's "Nov 30 09:48:00 node kernel: text", also with an ISO date or with
/// seconds since boot; or the form that dmesg prints.
Message plain_message(const std::string& line) {
  static thread_local const Regex& journal = pattern(
      R"(^(?:(\w{3} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)|(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)|\[\s*(\d+\.\d+)\]) (\S+) kernel: ?(?:\[\s*(\d+\.\d+)\] ?)?(.*)$)");
  Message message;
  Regex::Match match;
  if (finds(journal, line, match)) {
    message.node = group(match, 4);
    message.text = group(match, 6);
    message.understood = true;
    if (match.groups[3])
      message.time = finite(group(match, 3));
    else
      message.time = wall_clock(std::string(match.groups[1] ? group(match, 1) : group(match, 2)));
    return message;
  }
  const KernelMessages read = parse_kernel_log(line);
  if (read.messages.size() == 1) {
    message.text = read.messages[0].text;
    message.time =
        read.messages[0].seconds ? read.messages[0].seconds : wall_clock(read.messages[0].time);
    message.understood = true;
    return message;
  }
  message.text = line;
  return message;
}

/// Where a prefix that is no launcher's stands before a line: pdsh's and grep's "node: ".
std::optional<Message> behind_name(const std::string& line) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string::npos || colon == 0 || colon > 64 ||
      line.find_first_of(" \t[<") < colon) {
    return std::nullopt;
  }
  Message message = plain_message(line.substr(colon + 2));
  if (!message.understood) return std::nullopt;
  if (message.node.empty()) message.node = line.substr(0, colon);
  return message;
}

bool starts_boot(const std::string& line, const Message& message) {
  return line.starts_with("-- Boot ") || line.starts_with("-- Reboot --") ||
         message.text.starts_with("Linux version ");
}

/// Messages in order, of each node only those since its last boot unless all are asked for.
std::vector<Message> read_messages(const Text& text, const Host& host, std::size_t& not_understood,
                                   std::size_t& earlier) {
  std::vector<Message> messages;
  int number = 0;
  std::map<std::string, std::size_t> boots;  // by source: where its last boot starts
  std::vector<std::string> sources;
  for (std::size_t at = 0; at < text.content.size();) {
    const std::size_t end = std::min(text.content.find('\n', at), text.content.size());
    std::string_view raw(text.content.data() + at, end - at);
    at = end + 1;
    ++number;
    if (raw.ends_with('\r')) raw.remove_suffix(1);
    const std::string whole_line(raw);
    auto message = json_message(raw);
    std::string source;
    std::string line = whole_line;
    if (!message) {
      message = plain_message(line);
      if (!message->understood) {
        const auto plain = runs::plain_line(raw);
        line = plain.text;
        source = plain.source;
        message = plain_message(line);
        if (!message->understood) {
          if (auto named = behind_name(line)) message = std::move(named);
        }
      }
    }
    if (trimmed(line).empty()) continue;
    if (message->node.empty()) message->node = source;
    message->number = number;
    if (starts_boot(line, *message)) boots[message->node] = messages.size();
    if (!message->understood && !line.starts_with("-- ")) ++not_understood;
    messages.push_back(std::move(*message));
  }
  // A marker of journalctl names no node: it is of the log as a whole.
  const auto whole_log = boots.find("");
  std::vector<Message> kept;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    std::size_t from = whole_log == boots.end() ? 0 : whole_log->second;
    if (const auto own = boots.find(messages[i].node); own != boots.end())
      from = std::max(from, own->second);
    if (i < from && !host.all_boots)
      ++earlier;
    else
      kept.push_back(std::move(messages[i]));
  }
  return kept;
}

/// What one device told of one code.
struct Told {
  Health health = Health::kUnknown;
  std::string rule, name, text;
  int count = 0, first = 0, last = 0;
};

Health word(const std::string& outcome) {
  return parse_health_word(outcome).value_or(Health::kUnknown);
}

class KernelReader {
 public:
  explicit KernelReader(const Host& host) : host_(host) {}

  void see(const Message& message) {
    const std::string& text = message.text;
    Regex::Match match;
    if (text.find("SXid") != std::string::npos && finds(sxid_, text, match)) {
      const facts::KernelRow* row = facts::row_for(host_.kernel->sxids, text);
      tell(message, "NVSwitch " + std::string(group(match, 1)),
           fmt::format("SXid {}", group(match, 2)), "sxid", row,
           row != nullptr ? word(row->outcome) : Health::kUnknown);
      return;
    }
    if (text.find("Xid") != std::string::npos && finds(xid_, text, match)) {
      see_xid(message, std::string(group(match, 1)), group(match, 2));
      return;
    }
    if (const facts::KernelRow* row = facts::row_for(host_.kernel->lines, text))
      tell(message, {}, row->name, "kernel-line", row, word(row->outcome));
  }

  void finish(const Text& text, CheckResult& check) const {
    for (const auto& [key, told] : told_) {
      const auto& [node, device, what] = key;
      const char* between = node.empty() || device.empty() ? "" : " ";
      const std::string subject = fmt::format("{}{}{}", node, between, device);
      std::string evidence = what;
      if (!told.name.empty() && told.name != what) evidence += " (" + told.name + ")";
      if (told.count > 1) {
        evidence += fmt::format(", {} times, the last on line {}", told.count, told.last);
      }
      evidence += ": " + told.text;
      check.add(told.health, told.rule, subject, evidence, {text.file, told.first, 0});
    }
  }

  bool empty() const { return told_.empty(); }
  int ignored() const { return ignored_; }

 private:
  void see_xid(const Message& message, const std::string& device, std::string_view digits) {
    int code = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), code);
    if (std::find(host_.ignored_xids.begin(), host_.ignored_xids.end(), code) !=
        host_.ignored_xids.end()) {
      ++ignored_;
      return;
    }
    const facts::KernelRow* row = host_.kernel->xid(code, host_.model(), message.text);
    const Health health = row != nullptr ? word(row->outcome) : word(host_.kernel->unknown_code);
    Told& told = tell(message, "GPU " + device, fmt::format("Xid {}", digits), "xid", row, health);
    if (row == nullptr) told.name = "in no catalogue";
    if (row != nullptr && row->repeats && told.count >= row->repeats->count)
      told.health = std::max(told.health, word(row->repeats->outcome));
  }

  Told& tell(const Message& message, const std::string& device, const std::string& what,
             const char* rule, const facts::KernelRow* row, Health health) {
    Told& told = told_[{message.node, device, what}];
    if (told.count == 0 || health > told.health) {
      told.name = row != nullptr ? row->name : std::string();
      told.text = trimmed(message.text);
      told.rule = rule;
    }
    told.health = told.count == 0 ? health : std::max(told.health, health);
    if (told.count++ == 0) told.first = message.number;
    told.last = message.number;
    return told;
  }

  const Host& host_;
  const Regex& xid_ = pattern(R"(\bXid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+))");
  const Regex& sxid_ = pattern(R"(\bSXid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+))");
  std::map<std::tuple<std::string, std::string, std::string>, Told> told_;
  int ignored_ = 0;
};

}  // namespace

void read_kernel_log(const Text& text, const Host& host, CheckResult& check) {
  std::size_t not_understood = 0, earlier = 0;
  const std::vector<Message> messages = read_messages(text, host, not_understood, earlier);
  std::optional<double> last;
  for (const Message& message : messages) {
    if (message.time) last = std::max(last.value_or(*message.time), *message.time);
  }
  KernelReader reader(host);
  std::size_t looked = 0, before_window = 0;
  for (const Message& message : messages) {
    // A message without a time counts: what can't be dated can't be dropped.
    if (host.window && message.time && last && *last - *message.time > *host.window) {
      ++before_window;
      continue;
    }
    if (message.understood) ++looked;
    reader.see(message);
  }
  reader.finish(text, check);
  if (looked == 0) {
    check.add(Health::kUnknown, "kernel-log-empty", {}, "no line has the form of a kernel's log",
              {text.file, 0, 0});
    return;
  }
  std::string said = fmt::format("{} messages looked at", looked);
  if (earlier > 0) said += fmt::format(", {} from before the last boot left out", earlier);
  if (before_window > 0) said += fmt::format(", {} older than asked for left out", before_window);
  if (not_understood > 0) said += fmt::format(", {} lines of another form", not_understood);
  if (reader.ignored() > 0)
    said += fmt::format(", {} Xid lines left out as asked", reader.ignored());
  check.add(Health::kOk, "kernel-log", {}, reader.empty() ? said + ", none tells an error" : said,
            {text.file, 0, 0});
}

}  // namespace muster::health
