// A byte-level BPE tokenizer, as Hugging Face's tokenizer.json describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/bpe.h"
#include "engine/text/splitter.h"

namespace muster::text {

/// A token that is looked for in the text before anything else, as a whole.
struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;  ///< a mark such as the end of a text, not text itself
};

/// All that a tokenizer is made of.
struct TokenizerParts {
  Bpe bpe;  ///< over byte strings, not their visible form
  Splitter splitter;
  std::vector<AddedToken> added;
  std::vector<TokenId>
      before;  ///< put before each text when specials are asked for (a start mark, say)
  std::vector<TokenId> after;
};

class Tokenizer {
 public:
  /// Reads tokenizer.json. Errors, with their places: not JSON, a model that is not byte-level BPE,
  /// a normaliser or pre-tokenizer that is not supported, ids that are not unique, tokens that
  /// stand for no bytes, a merge whose parts or result are not tokens, a pattern that is wrong.
  static Result<Tokenizer> from_json(std::string_view json, const std::string& file);
  static Result<Tokenizer> read(const std::filesystem::path& path);

  explicit Tokenizer(TokenizerParts parts);

  /// tokenizer.json, which Hugging Face's tokenizers reads.
  std::string to_json() const;

  /// Added tokens (`<|endoftext|>`) are recognised in the text. Any bytes are taken; with all 256
  /// single bytes in the vocabulary and no prefix space, decode(encode(text)) == text.
  std::vector<TokenId> encode(std::string_view text, bool with_specials = false) const;

  /// The text's bytes. An id that is not known is a bug of the caller: std::out_of_range.
  std::string decode(std::span<const TokenId> ids) const;

  /// One more than the highest id: the rows that an embedding needs.
  std::int64_t vocabulary_size() const { return static_cast<std::int64_t>(texts_.size()); }
  bool contains(std::int64_t id) const;
  /// Id of a token by its bytes or, for an added one, its content.
  std::optional<TokenId> id_of(std::string_view token) const;
  /// The mark that ends a text, if there is one: the first special token that is named so
  /// (<|endoftext|>, <|end_of_text|>, </s>, …).
  std::optional<TokenId> end_of_text() const;

  const TokenizerParts& parts() const { return parts_; }

 private:
  const AddedToken* added_at(std::string_view text, std::size_t at) const;

  TokenizerParts parts_;
  std::vector<std::optional<std::string>> texts_;  // by id
  std::vector<std::size_t> added_longest_first_;   // indices into parts_.added
  bool first_byte_[256] = {};                      // of an added token
};

}  // namespace muster::text
