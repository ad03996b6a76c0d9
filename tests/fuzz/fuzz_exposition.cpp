// Texts of metrics: what is taken is written again in the format, and is the same when read back.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "metrics/exposition.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::metrics;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool clean = check_exposition(text, "m").empty();
  const auto read = parse_exposition(text, "m");
  if (!read) {
    if (read.findings().empty()) std::abort();
    return 0;
  }
  if (!clean) std::abort();
  const std::string written = read->text();
  const auto again = parse_exposition(written, "m");
  if (!again || again->text() != written) std::abort();
  read->text(Form::kOpenMetrics);
  return 0;
}
