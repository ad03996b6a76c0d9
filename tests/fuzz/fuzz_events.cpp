// The trainer's event files: any bytes are either events or a located finding.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "runs/events.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto events =
      muster::runs::parse_events(std::string(reinterpret_cast<const char*>(data), size), "f");
  if (!events && events.findings().empty()) std::abort();
  if (events) {
    for (const auto& event : *events) {
      if (!event.is_object()) std::abort();
    }
  }
  return 0;
}
