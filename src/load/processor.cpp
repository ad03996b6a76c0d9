#include "load/processor.h"

#include <sys/resource.h>

#include <fstream>
#include <string>

namespace muster::load {

ProcessorTime processor_time() {
  ProcessorTime time;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& value) {
      return static_cast<double>(value.tv_sec) + static_cast<double>(value.tv_usec) / 1e6;
    };
    time.own_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  // cpu user nice system idle iowait irq softirq steal …
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  double ticks = 0;
  for (int column = 0; column < 8 && file >> ticks; ++column) {
    time.all_ticks += ticks;
    if (column == 7) time.stolen = ticks;
  }
  return time;
}

double stolen_share(const ProcessorTime& before, const ProcessorTime& after) {
  const double all = after.all_ticks - before.all_ticks;
  if (before.stolen < 0 || after.stolen < 0 || !(all > 0)) return -1;
  return (after.stolen - before.stolen) / all;
}

}  // namespace muster::load
