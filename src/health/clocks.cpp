// Whether a host's clock is right: chronyc, timedatectl, ntpq, adjtimex. Credentials of MUNGE and
// signed requests are refused when it is not. The clocks of GPUs belong to the gpu check.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/words.h"
#include "health/look.h"
#include "health/readers.h"

namespace muster::health {
namespace {

class ClockReader {
 public:
  ClockReader(const Text& text, const Host& host, CheckResult& check)
      : text_(text), host_(host), check_(check) {}

  void read() {
    for (const Line& line : lines_of(text_.content)) {
      const std::string bare(trimmed(line.text));
      if (bare.empty()) continue;
      source_ = line.source;
      see_chrony(line, bare);
      see_systemd(line, bare);
      see_peers(line, bare);
      see_kernel(line, bare);
    }
    finish();
    if (!seen_) {
      add(Health::kUnknown, "clocks-empty",
          "nothing was understood as chronyc tracking, timedatectl, ntpq -p or adjtimex --print",
          0);
    }
  }

 private:
  void add(Health health, const char* rule, const std::string& evidence, int line) {
    check_.add(health, rule, source_, evidence, {text_.file, line, 0});
    seen_ = true;
  }

  void judge(double seconds, const std::string& who, int line) {
    const double off = std::abs(seconds);
    const auto& limits = *host_.thresholds;
    const Health health = off >= limits.at("clock-offset-worst") ? Health::kInvestigate
                          : off >= limits.at("clock-offset")     ? Health::kFlag
                                                                 : Health::kOk;
    add(health, "clocks-offset", fmt::format("{}: {:.3g} s off", who, off), line);
  }

  void unsynchronised(const std::string& who, int line) {
    add(Health::kFlag, "clocks-unsynchronised", who + ": the clock is not synchronised", line);
  }

  /// "System time     : 0.000012 seconds slow of NTP time", "Leap status     : Normal". The time is
  /// believed only of a clock that follows another.
  void see_chrony(const Line& line, const std::string& bare) {
    static thread_local const Regex& time =
        pattern(R"(^System time\s*: ([\d.]+) seconds (?:slow|fast) of NTP time)");
    static thread_local const Regex& leap = pattern(R"(^Leap status\s*: (.+)$)");
    static thread_local const Regex& fails =
        pattern(R"(506 Cannot talk to daemon|Could not open connection to daemon)");
    Regex::Match match;
    if (finds(time, bare, match)) {
      chrony_offset_ = finite(group(match, 1));
      chrony_line_ = line.number;
      if (!chrony_offset_)
        add(Health::kUnknown, "clocks-form", "is not understood: " + bare, line.number);
    } else if (finds(leap, bare, match)) {
      chrony_leap_ = group(match, 1);
      if (chrony_line_ == 0) chrony_line_ = line.number;
    } else if (finds(fails, bare, match)) {
      add(Health::kError, "clocks-daemon", "chronyd does not answer: " + bare, line.number);
    }
  }

  /// timedatectl status ("System clock synchronized: yes"), show ("NTPSynchronized=yes") and
  /// timesync-status ("Offset: +1.2ms").
  void see_systemd(const Line& line, const std::string& bare) {
    static thread_local const Regex& answer =
        pattern(R"(^(?:(?:System clock|NTP) synchronized: |NTPSynchronized=)(yes|no)$)");
    static thread_local const Regex& offset = pattern(R"(^Offset: \+?(-?[\d.]+)(us|ms|s)$)");
    static thread_local const Regex& fails = pattern(
        R"(System has not been booted with systemd|Failed to (?:connect to bus|query server))");
    Regex::Match match;
    if (finds(answer, bare, match)) {
      if (group(match, 1) == "yes")
        add(Health::kOk, "clocks-synchronised", "systemd: the clock is synchronised", line.number);
      else
        unsynchronised("systemd", line.number);
    } else if (finds(offset, bare, match)) {
      const auto value = finite(group(match, 1));
      const auto unit = group(match, 2);
      if (value)
        judge(*value * (unit == "s" ? 1 : unit == "ms" ? 1e-3 : 1e-6), "systemd", line.number);
      else
        add(Health::kUnknown, "clocks-form", "is not understood: " + bare, line.number);
    } else if (finds(fails, bare, match)) {
      add(Health::kError, "clocks-daemon", "systemd does not answer: " + bare, line.number);
    }
  }

  /// ntpq -p: a table of peers, the one that is followed marked by * (or o); offsets in ms.
  void see_peers(const Line& line, const std::string& bare) {
    const auto words = words_of(bare);
    if (words.size() >= 10 && words[0] == "remote" && words[1] == "refid" &&
        words[words.size() - 2] == "offset") {
      peers_line_ = line.number;
      return;
    }
    if (peers_line_ == 0 || words.size() < 10 || (bare[0] != '*' && bare[0] != 'o')) return;
    const auto value = finite(words[words.size() - 2]);
    if (value && whole(words[2])) peer_ = {*value / 1000, line.number};
  }

  /// adjtimex --print. A status with bit 64 is a clock that nobody keeps right.
  void see_kernel(const Line& line, const std::string& bare) {
    static thread_local const Regex& status = pattern(R"(^status: (\d+))");
    static thread_local const Regex& offset = pattern(R"(^(offset|maxerror): (-?\d+))");
    Regex::Match match;
    if (finds(status, bare, match)) {
      kernel_status_ = whole(group(match, 1));
      kernel_line_ = line.number;
    } else if (finds(offset, bare, match)) {
      const auto value = finite(group(match, 2));
      if (group(match, 1) == "offset") kernel_offset_ = value;
    }
  }

  void finish() {
    if (chrony_line_ > 0) {
      if (chrony_leap_.empty()) {
        add(Health::kUnknown, "clocks-truncated", "chronyc's output breaks off", chrony_line_);
      } else if (chrony_leap_ == "Not synchronised") {
        unsynchronised("chrony", chrony_line_);
      } else if (chrony_offset_) {
        judge(*chrony_offset_, "chrony", chrony_line_);
      } else {
        add(Health::kUnknown, "clocks-form", "chronyc tells no offset", chrony_line_);
      }
    }
    if (peers_line_ > 0) {
      if (peer_.second > 0)
        judge(peer_.first, "ntpd", peer_.second);
      else
        unsynchronised("ntpd follows none of its peers", peers_line_);
    }
    if (kernel_line_ == 0) return;
    constexpr std::uint64_t kUnsynchronised = 64;
    if (!kernel_status_ || !kernel_offset_)
      add(Health::kUnknown, "clocks-form", "the kernel's state of the clock is not told in full",
          kernel_line_);
    else if ((*kernel_status_ & kUnsynchronised) != 0)
      unsynchronised("kernel", kernel_line_);
    else
      judge(*kernel_offset_ * 1e-6, "kernel", kernel_line_);
  }

  const Text& text_;
  const Host& host_;
  CheckResult& check_;
  bool seen_ = false;
  std::string source_, chrony_leap_;
  std::optional<double> chrony_offset_, kernel_offset_;
  std::optional<std::uint64_t> kernel_status_;
  std::pair<double, int> peer_{};
  int chrony_line_ = 0, peers_line_ = 0, kernel_line_ = 0;
};

}  // namespace

void read_clocks(const Text& text, const Host& host, CheckResult& check) {
  ClockReader(text, host, check).read();
}

void look_at_clocks(const HostView& view, const Host& host, CheckResult& check) {
  // The first that answers: who keeps the clock knows best, the kernel knows whether anybody does.
  CheckResult first("clocks");
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{"chronyc", "-n", "tracking"},
        {"chronyc", "tracking"},
        {"ntpq", "-pn"},
        {"timedatectl", "show"},
        {"adjtimex", "--print"}}) {
    CheckResult read("clocks");
    if (!read_command(view, argv, std::chrono::seconds(10), read_clocks, host, read)) continue;
    if (read.health() == Health::kOk || read.health() == Health::kFlag || is_fault(read.health())) {
      for (const Observation& one : read.observations()) check.add(one);
      return;
    }
    if (first.empty()) first = read;
  }
  if (first.empty()) {
    check.add(Health::kUnknown, "no-tool", {},
              "none of chronyc, ntpq and timedatectl is there, and the kernel does not tell");
  }
  for (const Observation& one : first.observations()) check.add(one);
}

}  // namespace muster::health
