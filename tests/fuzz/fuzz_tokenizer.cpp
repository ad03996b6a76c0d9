// tokenizer.json: any bytes are either a tokenizer that can encode, decode and be written again, or
// a located finding.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "engine/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using muster::text::Tokenizer;
  const auto tokenizer = Tokenizer::from_json({reinterpret_cast<const char*>(data), size}, "f");
  if (!tokenizer) {
    if (tokenizer.findings().empty()) std::abort();
    return 0;
  }
  const auto again = Tokenizer::from_json(tokenizer->to_json(), "again");
  if (!again || again->to_json() != tokenizer->to_json()) std::abort();
  try {
    const auto ids = tokenizer->encode("ab ab <e> 12 \xff \xe2\x82\xac", true);
    (void)tokenizer->decode(ids);
  } catch (const std::runtime_error&) {  // a pattern that reached PCRE2's limits
  }
  return 0;
}
