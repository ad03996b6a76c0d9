// What the processors did while something was measured.
#pragma once

namespace muster::load {

struct ProcessorTime {
  double own_seconds = 0;             ///< of this process, user and system
  double all_ticks = 0, stolen = -1;  ///< of the machine; -1: /proc/stat does not say
};

ProcessorTime processor_time();

/// Share of all processors' time that the hypervisor took for others; -1: not known.
double stolen_share(const ProcessorTime& before, const ProcessorTime& after);

}  // namespace muster::load
