#include "metrics/self.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>

#include <fmt/format.h>

#include "base/file_system.h"
#include "base/words.h"
#include "metrics/catalogue.h"

namespace muster::metrics {
namespace {

void put_own(Exposition& to, const char* name, Labels labels, double value) {
  const MetricRow& row = metric_row(name);
  to.add(name, row.type, row.help, std::move(labels), value);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

int open_files() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = -3;                              // itself, "." and ".."
  while (readdir(folder) != nullptr) ++count;  // NOLINT(concurrency-mt-unsafe): own stream
  closedir(folder);
  return count;
}

}  // namespace

void put_process(Exposition& to) {
  static const double kStart = now_in_seconds();
  put_own(to, "muster_exporter_info", {{"version", MUSTER_VERSION}}, 1);
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    put_own(to, "process_cpu_seconds_total", {},
            seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  }
  if (const auto pages = real_file_system().read("/proc/self/statm")) {
    const auto words = words_of(*pages);
    const auto resident = words.size() > 1 ? whole(words[1]) : std::nullopt;
    if (resident) {
      put_own(to, "process_resident_memory_bytes", {},
              static_cast<double>(*resident) * static_cast<double>(sysconf(_SC_PAGESIZE)));
    }
  }
  put_own(to, "process_start_time_seconds", {}, kStart);
  put_own(to, "process_open_fds", {}, open_files());
}

void put_counts(const server::Counts& counts, Exposition& to) {
  put_own(to, "muster_exporter_connections", {}, static_cast<double>(counts.connections));
  for (const auto& [code, count] : counts.answers) {
    put_own(to, "muster_exporter_requests_total", {{"code", fmt::format("{}", code)}},
            static_cast<double>(count));
  }
  const std::pair<const char*, std::uint64_t> dropped[] = {
      {"slow", counts.slow}, {"idle", counts.idle}, {"crowd", counts.crowd}};
  for (const auto& [reason, count] : dropped) {
    put_own(to, "muster_exporter_dropped_total", {{"reason", reason}}, static_cast<double>(count));
  }
}

}  // namespace muster::metrics
