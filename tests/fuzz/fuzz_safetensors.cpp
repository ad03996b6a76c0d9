// Headers of safetensors files: any bytes are either a table whose ranges lie in the file, or a
// located finding.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/model/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = muster::model::parse_safetensors(bytes, size, "f");
  if (!header && header.findings().empty()) std::abort();
  if (header) {
    for (const auto& [name, entry] : header->tensors) {
      if (entry.begin > entry.end || header->data_start + entry.end > size) std::abort();
    }
  }
  return 0;
}
