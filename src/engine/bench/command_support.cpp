#include "engine/bench/command_support.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/verdict.h"
#include "engine/bench/runner.h"

namespace muster::measure {

int refuse(const Findings& findings) {
  for (const Finding& finding : findings) fmt::print(stderr, "{}\n", to_string(finding));
  return kExitBadInput;
}

void fit_to_memory(Sweep& sweep, Fabric& fabric) {
  std::vector<double> room = {static_cast<double>(memory_for_buffers(fabric))};
  fabric.min(room);
  const double most = room[0] / 3;  // send, receive, and what MPI keeps
  if (static_cast<double>(sweep.sizes.back()) <= most) return;
  while (!sweep.sizes.empty() && static_cast<double>(sweep.sizes.back()) > most)
    sweep.sizes.pop_back();
  sweep.max_bytes = sweep.sizes.empty() ? 0 : sweep.sizes.back();
  if (fabric.rank() == 0)
    fmt::print("# Reducing maxBytes to {} due to memory limitation\n", sweep.max_bytes);
}

void in_cycles(const Sweep& sweep, Fabric& fabric, const std::function<void()>& once) {
  const auto began = std::chrono::steady_clock::now();
  for (long cycle = 0; sweep.cycles == 0 || cycle < sweep.cycles; ++cycle) {
    once();
    if (!sweep.duration) continue;
    std::vector<double> over = {std::chrono::steady_clock::now() - began >= *sweep.duration ? 1.0
                                                                                            : 0.0};
    fabric.max(over);
    if (over[0] > 0) return;
  }
}

}  // namespace muster::measure
