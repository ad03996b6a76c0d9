// What `score` is given: token sequences in JSON, or a text cut into windows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/tokenizer.h"

namespace muster::train {

using Sequences = std::vector<std::vector<std::int64_t>>;

/// Reads {"sequences": [[1, 2, …], …]}. Errors, each with its place: not JSON, another key, no
/// sequence or an empty one, an id that is not an integer in [0, vocabulary).
Result<Sequences> parse_sequences(std::string_view json, const std::string& file,
                                  std::int64_t vocabulary);

/// Encodes a text, with the tokenizer's special tokens, and cuts it into windows of at most
/// `window` tokens, each scored by itself; a last window of a single token joins the one before.
/// Errors: an empty text, bytes that are not text (with line and column), an id that the model does
/// not have.
Result<Sequences> windows_of(std::string_view text, const std::string& file,
                             const text::Tokenizer& tokenizer, std::int64_t window,
                             std::int64_t vocabulary);

}  // namespace muster::train
