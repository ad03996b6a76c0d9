// From text to token shards: done once for a text and a tokenizer, kept beside the output.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/train/token_shards.h"

namespace muster::train {

/// What is to be trained on.
struct DataRequest {
  std::filesystem::path
      data;               ///< a UTF-8 text, or a directory of *.txt texts or of *.tokens shards
  std::string tokenizer;  ///< "bpe:N", or the path of a tokenizer.json
  std::filesystem::path cache;  ///< where prepared data is kept, one directory each
};

/// A stretch of text, and which split it is for.
struct TextPart {
  std::string_view text;
  bool validation = false;
};

/// Cuts a text into about as many parts as needed (of 64 KiB, or a twentieth of the text when that
/// is less), at line ends where there are any near; one of each twenty is for validation. The parts
/// together are the text. Spread over the whole text, so that what is held out is like what is
/// trained on.
std::vector<TextPart> split_text(std::string_view text);

/// The directory with the token shards of a request, made when it is not there yet: written beside,
/// then renamed, under a name that stands for the content of text and tokenizer. Errors, each with
/// its place: no such file, an empty text, bytes that are not UTF-8 text, a tokenizer that can't be
/// read or trained, output that can't be written.
Result<std::filesystem::path> prepare(const DataRequest& request);

/// Token shards open for training.
struct Corpus {
  TokenStream train;
  TokenStream validation;
  std::string hash;       ///< stands for the training tokens
  std::string tokenizer;  ///< path of its tokenizer.json; empty when there is none
  std::string tokenizer_hash;
  std::size_t shards = 0;
};

/// Opens train-*.tokens and validation-*.tokens of a directory. Without validation shards the last
/// twentieth of the tokens is held out.
Result<Corpus> open_corpus(const std::filesystem::path& directory);

}  // namespace muster::train
