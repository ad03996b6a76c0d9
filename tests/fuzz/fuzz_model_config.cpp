// config.json: any bytes are either a configuration that survives being written, or a located
// finding.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/model/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::model;
  const auto config = parse_config({reinterpret_cast<const char*>(data), size}, "f");
  if (!config && config.findings().empty()) std::abort();
  if (config) {
    const auto again = parse_config(write_config(*config), "again");
    if (!again || *again != *config) std::abort();
  }
  return 0;
}
