// Limits of processes: `ulimit -a` and /proc/PID/limits.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/words.h"
#include "health/readers.h"

namespace muster::health {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

std::optional<double> limit_of(std::string_view word, double unit) {
  if (word == "unlimited") return kUnlimited;
  const auto number = finite(word);
  return number ? std::optional(*number * unit) : std::nullopt;
}

std::string words_for(double bytes) {
  constexpr double kGi = 1024.0 * 1024 * 1024;
  if (std::isinf(bytes)) return "unlimited";
  return bytes >= kGi ? fmt::format("{:.4g} GiB", bytes / kGi)
                      : fmt::format("{:.4g} MiB", bytes / (1024.0 * 1024));
}

}  // namespace

void read_limits(const Text& text, const Host& host, CheckResult& check) {
  std::optional<double> memlock, files;
  int memlock_line = 0, files_line = 0;
  Regex::Match match;
  static thread_local const Regex& proc = pattern(
      R"(^Max (locked memory|open files)\s+(unlimited|\d+)\s+(?:unlimited|\d+)\s+(bytes|files))");
  static thread_local const Regex& shell = pattern(
      R"(^(?:-\w: )?(max locked memory|locked memory|open files|locked-in-memory size|file descriptors)\s*(?:\((kbytes|kb)?,? ?-[ln]\)|\((?:kbytes|kb)\))?\s+(unlimited|\d+)\s*$)");
  for (const Line& line : lines_of(text.content)) {
    const std::string bare(trimmed(line.text));
    if (finds(proc, bare, match)) {
      const bool memory = group(match, 1) == "locked memory";
      (memory ? memlock : files) = limit_of(group(match, 2), 1);
      (memory ? memlock_line : files_line) = line.number;
    } else if (finds(shell, bare, match)) {
      const bool memory = group(match, 1).find("lock") != std::string_view::npos;
      (memory ? memlock : files) = limit_of(group(match, 3), memory ? 1024 : 1);
      (memory ? memlock_line : files_line) = line.number;
    }
  }
  if (!memlock && !files) {
    check.add(Health::kUnknown, "limits-empty", {},
              "nothing was understood as ulimit -a or /proc/PID/limits", {text.file, 0, 0});
    return;
  }
  const auto& limits = *host.thresholds;
  if (memlock) {
    const double least = limits.at("memlock");
    const bool fabric = host.efa_devices().value_or(1) > 0;
    check.add(*memlock < least && fabric ? Health::kFlag : Health::kOk, "limits-memlock", {},
              *memlock < least ? fmt::format("a process may lock {} of memory, EFA wants {}",
                                             words_for(*memlock), words_for(least))
                               : fmt::format("locked memory: {}", words_for(*memlock)),
              {text.file, memlock_line, 0});
  } else {
    check.add(Health::kUnknown, "limits-memlock", {}, "nothing is told of locked memory",
              {text.file, 0, 0});
  }
  if (!files) {
    check.add(Health::kUnknown, "limits-nofile", {}, "nothing is told of open files",
              {text.file, 0, 0});
    return;
  }
  const auto each = host.instance && host.instance->accelerators
                        ? host.instance->accelerators->count
                        : std::nullopt;
  if (!host.nodes || !each) {
    check.add(Health::kOk, "limits-nofile", {},
              std::isinf(*files) ? std::string("open files: unlimited")
                                 : fmt::format("open files: {:g}", *files),
              {text.file, files_line, 0});
    return;
  }
  const double ranks = static_cast<double>(*host.nodes) * *each;
  const double needed =
      limits.at("open-files-base") + limits.at("open-files-per-peer") * (ranks - 1);
  const bool short_of = *files < needed;
  check.add(
      short_of ? Health::kInvestigate : Health::kOk, "limits-nofile", {},
      fmt::format("a process may open {} files, a rank of {:g} needs about {:g}",
                  std::isinf(*files) ? std::string("any number of") : fmt::format("{:g}", *files),
                  ranks, needed),
      {text.file, files_line, 0});
}

}  // namespace muster::health
