// The kernel's log: every line that is not empty is understood, kept, or a continuation.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/kernel_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto log =
      muster::parse_kernel_log(std::string_view(reinterpret_cast<const char*>(data), size));
  for (const auto& line : log.not_understood) {
    if (line.empty()) std::abort();
  }
  return 0;
}
