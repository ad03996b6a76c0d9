// Logs of foreign programs: never crashes, whatever the pieces, and the events don't depend on
// where the pieces were cut.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/log_patterns.h"
#include "runs/log_reader.h"

namespace {

const muster::runs::LogPatterns& patterns() {
  static const auto kPatterns = [] {
    const auto rows =
        muster::facts::load_log_patterns(muster::real_file_system(), MUSTER_SOURCE_DIR);
    if (!rows) std::abort();
    auto made = muster::runs::LogPatterns::make(*rows, "pytorch", "");
    if (!made) std::abort();
    return std::move(*made);
  }();
  return kPatterns;
}

std::vector<muster::runs::RankedEvent> read(std::string_view text, std::size_t piece) {
  muster::runs::LogReader reader(patterns(), {std::nullopt, 2, 8, nullptr});
  std::vector<muster::runs::RankedEvent> events;
  for (std::size_t at = 0; at < text.size(); at += piece)
    reader.feed(text.substr(at, piece), events);
  reader.finish(events);
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = read(text, size + 1);
  const auto pieces = read(text, 7);
  if (whole.size() != pieces.size()) std::abort();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].rank != pieces[i].rank || whole[i].event.dump() != pieces[i].event.dump())
      std::abort();  // as text: a loss may be nan, which equals nothing
  }
  return 0;
}
