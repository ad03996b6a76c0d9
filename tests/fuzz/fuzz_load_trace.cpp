// Traces and prompts from files: never crashes; what is read is in order and in bounds.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "load/arrivals.h"
#include "load/workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::load;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto trace = parse_trace(text, "trace", 1);
  if (!trace && trace.findings().empty()) std::abort();
  if (trace) {
    std::int64_t last = 0;
    for (const Arrival& arrival : *trace) {
      if (arrival.at < last || *arrival.input < 0 || *arrival.output < 0) std::abort();
      last = arrival.at;
    }
  }
  const auto prompts = parse_prompts(text, "prompts");
  if (!prompts && prompts.findings().empty()) std::abort();
  const auto lengths = parse_lengths(text, "--input");
  if (lengths && !(lengths->first >= 1)) std::abort();
  return 0;
}
