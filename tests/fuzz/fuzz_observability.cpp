// Queries, samples, and other people's dashboards, rules and scrape configurations: read or refused
// at a place, never a crash; a frame of what was read fits its screen.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/display.h"
#include "metrics/foreign.h"
#include "metrics/query.h"
#include "metrics/top.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;           // NOLINT: a program of one function
  using namespace muster::metrics;  // NOLINT
  static const BoardFacts kFacts = *load_board_facts(real_file_system(), MUSTER_SOURCE_DIR);
  static const KnownMetrics kKnown = known_metrics(kFacts);
  static const MemoryFileSystem kNoFiles;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const CheckedQuery query = check_query(text, {"q", 1, 1}, kKnown);
  if (query.findings.empty() && text.empty()) std::abort();
  for (const char* name : {"a.json", "a.yaml"}) {
    const ForeignFile checked = check_foreign(text, name, kNoFiles, kFacts);
    if (checked.kind.empty() && checked.checked > 0) std::abort();
  }
  Scraped scraped;
  scraped.host = "n1";
  scraped.samples = read_samples(text).samples;
  TopLook look;
  look.width = 40;
  look.height = 12;
  const auto frame = top_frame(top_view({scraped}, {}), look);
  if (frame.size() > look.height) std::abort();
  for (const std::string& line : frame) {
    if (display_width(line) > look.width) std::abort();
  }
  return 0;
}
