// JSON: accepts exactly what nlohmann accepts, but for duplicate keys, depth and control characters
// in names.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = muster::parse_json(text, "f");
  const bool theirs = nlohmann::json::accept(text);
  if (document) {
    if (!theirs) std::abort();
    return 0;
  }
  const std::string& rule = document.findings().at(0).rule;
  const bool stricter = rule == "json-duplicate-key" || rule == "json-too-deep" ||
                        text.substr(0, 3) == "\xEF\xBB\xBF";
  if (theirs && !stricter) std::abort();
  return 0;
}
