// YAML: never crashes, never loops, every place it tells lies in the text, and the quick reader
// reads what the full one reads.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "../base/yaml_same.h"
#include "base/document.h"
#include "base/schema.h"
#include "base/text.h"
#include "base/yaml_block.h"

namespace {

void check_places(const muster::Node& node, int lines) {
  if (node.where().line < 1 || node.where().line > lines || node.where().column < 1) std::abort();
  for (const auto& entry : node.entries()) check_places(entry.value, lines);
  for (const auto& item : node.items()) check_places(item, lines);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!muster::find_not_text(text, "f")) {
    if (const auto quick = muster::parse_yaml_block(text, "f")) {
      const auto full = muster::parse_yaml_full(text, "f", false);
      if (!full || !muster::testing::is_same(*quick, *full)) std::abort();
    }
  }
  const auto documents = muster::parse_yaml_stream(text, "f");
  if (!documents) {
    if (documents.findings().empty()) std::abort();
    return 0;
  }
  const int lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const muster::Node& document : *documents) {
    check_places(document, lines);
    if (!muster::parse_yaml(muster::to_yaml(document), "g")) std::abort();
  }
  return 0;
}
