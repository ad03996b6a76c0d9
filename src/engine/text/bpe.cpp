#include "engine/text/bpe.h"

#include <functional>
#include <queue>
#include <tuple>

namespace muster::text {

Bpe::Bpe(Vocabulary vocabulary, std::vector<Pair> merges, bool ignore_merges,
         std::optional<TokenId> unknown)
    : vocabulary_(std::move(vocabulary)),
      merges_(std::move(merges)),
      ignore_merges_(ignore_merges),
      unknown_(unknown) {
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    const auto known = vocabulary_.find(std::string_view(&text, 1));
    byte_id_[byte] = known == vocabulary_.end() ? unknown_.value_or(-1) : known->second;
  }
  std::unordered_map<TokenId, std::string_view> text_of;
  for (const auto& [token, id] : vocabulary_) text_of[id] = token;
  merged_.reserve(merges_.size());
  std::string joined;
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const auto [left, right] = merges_[rank];
    joined.assign(text_of.at(left)).append(text_of.at(right));
    merged_.insert_or_assign(pair_key(left, right), Merged{static_cast<std::int32_t>(rank),
                                                           vocabulary_.find(joined)->second});
  }
}

void Bpe::encode(std::string_view piece, std::vector<TokenId>& ids) const {
  if (ignore_merges_) {
    if (const auto whole = vocabulary_.find(piece); whole != vocabulary_.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  // A doubly linked list of symbols, and a heap of the pairs that can be merged: lowest rank first,
  // then leftmost.
  struct Symbol {
    TokenId id;
    int previous;
    int next;
  };
  using Candidate =
      std::tuple<std::int32_t, int, TokenId, TokenId>;  // rank, left symbol, ids of the pair
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (const char c : piece) {
    const TokenId id = byte_id_[static_cast<unsigned char>(c)];
    if (id < 0) continue;
    const int at = static_cast<int>(symbols.size());
    symbols.push_back({id, at - 1, at + 1});
  }
  if (symbols.empty()) return;
  symbols.back().next = -1;

  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](int left) {
    if (left < 0 || symbols[static_cast<std::size_t>(left)].next < 0) return;
    const Symbol& symbol = symbols[static_cast<std::size_t>(left)];
    const TokenId right = symbols[static_cast<std::size_t>(symbol.next)].id;
    if (const auto known = merged_.find(pair_key(symbol.id, right)); known != merged_.end())
      candidates.emplace(known->second.rank, left, symbol.id, right);
  };
  for (int i = 0; i + 1 < static_cast<int>(symbols.size()); ++i) consider(i);
  while (!candidates.empty()) {
    const auto [rank, left, left_id, right_id] = candidates.top();
    candidates.pop();
    Symbol& symbol = symbols[static_cast<std::size_t>(left)];
    // Stale when either side has been merged since.
    if (symbol.id != left_id || symbol.next < 0 ||
        symbols[static_cast<std::size_t>(symbol.next)].id != right_id)
      continue;
    Symbol& gone = symbols[static_cast<std::size_t>(symbol.next)];
    symbol.id = merged_.find(pair_key(left_id, right_id))->second.id;
    symbol.next = gone.next;
    gone.id = -1;
    if (symbol.next >= 0) symbols[static_cast<std::size_t>(symbol.next)].previous = left;
    consider(symbol.previous);
    consider(left);
  }
  for (int i = 0; i >= 0; i = symbols[static_cast<std::size_t>(i)].next)
    ids.push_back(symbols[static_cast<std::size_t>(i)].id);
}

}  // namespace muster::text
