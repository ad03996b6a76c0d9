// Training a byte-level BPE tokenizer on a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/text/tokenizer.h"

namespace muster::text {

/// The mark that a trained tokenizer has for the end of a text; its id is 0.
inline constexpr const char* kEndOfText = "<|endoftext|>";

/// The fewest ids that a byte-level vocabulary can have: the 256 bytes and the end mark.
inline constexpr std::int64_t kSmallestVocabulary = 257;

/// A tokenizer of `vocabulary` ids: the end mark, the 256 bytes, then merges of the most frequent
/// pair within pieces (Llama 3's pattern), ties to the smaller ids, as Hugging Face's BpeTrainer
/// chooses. Fewer ids when no pair comes twice any more. A function of the text alone. Errors: an
/// empty text, a vocabulary under 257 or over 2^21.
Result<Tokenizer> train_bpe(std::string_view text, std::int64_t vocabulary);

}  // namespace muster::text
