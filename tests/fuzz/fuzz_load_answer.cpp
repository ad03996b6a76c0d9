// What a server answers, in pieces: never crashes, and what is not a whole answer says so.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "load/protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::load;
  if (size < 2) return 0;
  Dialect dialect;
  dialect.api = static_cast<Api>(data[0] % 5);
  dialect.stream = (data[0] & 128) == 0;
  const std::size_t step = data[1] % 64 + 1;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  AnswerReader reader(dialect, true);
  int pieces = 0;
  for (std::size_t from = 0; from < text.size(); from += step)
    pieces += reader.feed(text.substr(from, step));
  reader.end();
  const Answer& answer = reader.answer();
  if (dialect.stream && pieces != answer.pieces) std::abort();
  if (answer.error_kind.empty() && !answer.done) std::abort();
  if (answer.output_tokens && *answer.output_tokens < 0) std::abort();
  error_message(text);
  return 0;
}
