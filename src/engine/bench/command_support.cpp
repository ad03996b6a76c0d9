#include "engine/bench/command_support.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "base/verdict.h"
#include "engine/bench/runner.h"

namespace muster::measure {

int refuse(const Findings& findings) {
  for (const Finding& finding : findings) fmt::print(stderr, "{}\n", to_string(finding));
  return kExitBadInput;
}

bool fit_to_memory(Sweep& sweep, Fabric& fabric, int buffers) {
  std::vector<double> room = {static_cast<double>(
      std::min(memory_for_buffers(fabric), fabric.memory().value_or(SIZE_MAX)))};
  fabric.min(room);
  const double most = room[0] / buffers;
  if (static_cast<double>(sweep.sizes.back()) <= most) return true;
  std::erase_if(sweep.sizes, [&](std::size_t size) { return static_cast<double>(size) > most; });
  const bool first = fabric.rank() == 0;
  if (sweep.sizes.empty()) {
    if (first)
      fmt::print(stderr, "error: -b: {} bytes, {} times a rank, do not fit into memory\n",
                 sweep.min_bytes, buffers);
    return false;
  }
  sweep.max_bytes = sweep.sizes.back();
  if (first) fmt::print("# Reducing maxBytes to {} due to memory limitation\n", sweep.max_bytes);
  return true;
}

int conclude(const Sweep& sweep, bool checked, std::size_t wrong, bool say) {
  if (wrong > 0) return kExitFailed;
  if (sweep.checks == 0 || checked) return kExitOk;
  if (say)
    fmt::print(
        stderr,
        "error: no element was there to be checked: below 16 bytes a rank there is no part\n");
  return kExitUnverified;
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

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "CPU";
}

void prefer_shared_memory() {
  const char* all = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (all != nullptr && here != nullptr && std::string_view(all) == here)
    setenv("OMPI_MCA_osc", "^rdma", /*overwrite=*/0);
}

}  // namespace muster::measure
