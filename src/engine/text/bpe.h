// Byte-pair encoding: a vocabulary of byte strings, and the merges that build them from single
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster::text {

using TokenId = std::int32_t;

/// Ids are below this. They index the rows of tables: a damaged one must not make those huge.
inline constexpr std::int64_t kMaxVocabulary = 1 << 21;

/// Lets maps of strings be asked with views.
struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

class Bpe {
 public:
  using Vocabulary = std::unordered_map<std::string, TokenId, StringHash, std::equal_to<>>;
  using Pair = std::pair<TokenId, TokenId>;

  Bpe() = default;
  /// `merges` in order of rank. Each merge's parts and result must be in the vocabulary.
  Bpe(Vocabulary vocabulary, std::vector<Pair> merges, bool ignore_merges,
      std::optional<TokenId> unknown = {});

  /// Appends the ids of one piece. A byte that is no token becomes the unknown token or, without
  /// one, is left out.
  void encode(std::string_view piece, std::vector<TokenId>& ids) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const std::vector<Pair>& merges() const { return merges_; }
  bool ignore_merges() const { return ignore_merges_; }
  std::optional<TokenId> unknown() const { return unknown_; }

 private:
  struct Merged {
    std::int32_t rank;
    TokenId id;
  };

  Vocabulary vocabulary_;
  std::vector<Pair> merges_;
  bool ignore_merges_ = false;  ///< a piece that is a token as a whole is taken as such
  std::optional<TokenId> unknown_;
  std::unordered_map<std::uint64_t, Merged> merged_;  // by pair
  TokenId byte_id_[256] = {};
};

/// A pair as one number, for hashing.
inline std::uint64_t pair_key(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U) |
         static_cast<std::uint32_t>(right);
}

}  // namespace muster::text
