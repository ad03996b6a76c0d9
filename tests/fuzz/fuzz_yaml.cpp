// YAML: never crashes, never loops, and every place it tells lies in the text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/document.h"
#include "base/schema.h"

namespace {

void check_places(const muster::Node& node, int lines) {
  if (node.where().line < 1 || node.where().line > lines || node.where().column < 1) std::abort();
  for (const auto& entry : node.entries()) check_places(entry.value, lines);
  for (const auto& item : node.items()) check_places(item, lines);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
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
