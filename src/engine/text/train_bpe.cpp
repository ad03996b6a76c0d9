#include "engine/text/train_bpe.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/text/byte_level.h"

namespace muster::text {
namespace {

/// A distinct piece of the text and how often it comes.
struct Word {
  std::vector<TokenId> symbols;
  std::int64_t count = 0;
};

struct Candidate {
  std::int64_t count;
  Bpe::Pair pair;

  /// The most frequent first; among equals the smaller ids.
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Trainer {
 public:
  Trainer(Bpe::Vocabulary vocabulary, std::vector<std::string> texts, std::vector<Word> words)
      : vocabulary_(std::move(vocabulary)), texts_(std::move(texts)), words_(std::move(words)) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto& symbols = words_[i].symbols;
      for (std::size_t at = 0; at + 1 < symbols.size(); ++at)
        change(symbols[at], symbols[at + 1], words_[i].count, i);
    }
    push_touched();
  }

  /// Merges until there are `size` ids or no pair comes twice.
  void run(std::int64_t size) {
    while (static_cast<std::int64_t>(vocabulary_.size()) < size && !candidates_.empty()) {
      Candidate best = candidates_.top();
      candidates_.pop();
      const auto key = pair_key(best.pair.first, best.pair.second);
      const std::int64_t count = counts_[key];
      if (best.count != count) {  // a neighbour's merge took some away
        if (count > 1) candidates_.push({count, best.pair});
        continue;
      }
      if (count < 2) break;
      merge(best.pair, key);
    }
  }

  Bpe::Vocabulary take_vocabulary() { return std::move(vocabulary_); }
  std::vector<Bpe::Pair> take_merges() { return std::move(merges_); }

 private:
  void change(TokenId left, TokenId right, std::int64_t by, std::size_t word) {
    const auto key = pair_key(left, right);
    counts_[key] += by;
    if (by <= 0) return;
    auto& words = words_of_[key];
    if (words.empty() || words.back() != word) words.push_back(word);
    touched_.emplace_back(left, right);
  }

  void push_touched() {
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const auto& pair : touched_)
      if (const auto count = counts_[pair_key(pair.first, pair.second)]; count > 1)
        candidates_.push({count, pair});
    touched_.clear();
  }

  void merge(const Bpe::Pair& pair, std::uint64_t key) {
    std::string text = texts_[static_cast<std::size_t>(pair.first)] +
                       texts_[static_cast<std::size_t>(pair.second)];
    // Two different pairs may make the same bytes: then the id is there already.
    const auto [place, is_new] = vocabulary_.emplace(text, static_cast<TokenId>(texts_.size()));
    if (is_new) texts_.push_back(std::move(text));
    const TokenId merged = place->second;
    merges_.push_back(pair);
    const auto words = std::move(words_of_[key]);
    words_of_.erase(key);
    for (const std::size_t word : words) merge_in(word, pair, merged);
    counts_.erase(key);
    push_touched();
  }

  void merge_in(std::size_t number, const Bpe::Pair& pair, TokenId merged) {
    Word& word = words_[number];
    auto& symbols = word.symbols;
    for (std::size_t at = 0; at + 1 < symbols.size(); ++at) {
      if (symbols[at] != pair.first || symbols[at + 1] != pair.second) continue;
      if (at > 0) {
        change(symbols[at - 1], pair.first, -word.count, number);
        change(symbols[at - 1], merged, word.count, number);
      }
      if (at + 2 < symbols.size()) {
        change(pair.second, symbols[at + 2], -word.count, number);
        change(merged, symbols[at + 2], word.count, number);
      }
      symbols[at] = merged;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
  }

  Bpe::Vocabulary vocabulary_;
  std::vector<std::string> texts_;  // by id
  std::vector<Word> words_;
  std::vector<Bpe::Pair> merges_;
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>>
      words_of_;  // where a pair was seen, perhaps no more
  std::vector<Bpe::Pair> touched_;
  std::priority_queue<Candidate> candidates_;
};

std::vector<Word> count_words(std::string_view text, const Splitter& splitter,
                              const Bpe::Vocabulary& bytes) {
  std::unordered_map<std::string_view, std::int64_t> counts;
  const Pieces pieces = splitter.split(text);
  for (const std::string_view piece : pieces.views) ++counts[piece];
  std::vector<std::pair<std::string_view, std::int64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<Word> words;
  words.reserve(sorted.size());
  for (const auto& [piece, count] : sorted) {
    Word word;
    word.count = count;
    for (std::size_t i = 0; i < piece.size(); ++i)
      word.symbols.push_back(bytes.find(piece.substr(i, 1))->second);
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

Result<Tokenizer> train_bpe(std::string_view text, std::int64_t vocabulary) {
  if (text.empty()) return failure("tokenizer-train", "the text to train a tokenizer on is empty");
  if (vocabulary < kSmallestVocabulary || vocabulary > kMaxVocabulary)
    return failure("tokenizer-train",
                   fmt::format("a byte-level vocabulary cannot have {} ids", vocabulary),
                   fmt::format("from {} to 2^21", kSmallestVocabulary));
  // Llama 3's steps: its pattern, then bytes.
  std::vector<SplitStep> steps(2);
  steps[0].regex = kLlama3Pattern;
  steps[1].kind = SplitStep::Kind::kByteLevel;
  steps[1].use_regex = false;
  auto splitter = Splitter::make(std::move(steps));
  if (!splitter) return splitter.error();

  // The bytes in the order of the characters that stand for them.
  std::vector<unsigned char> order(256);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<unsigned char>(i);
  std::sort(order.begin(), order.end(), [](unsigned char a, unsigned char b) {
    return visible_character(a) < visible_character(b);
  });
  Bpe::Vocabulary start;
  std::vector<std::string> texts = {kEndOfText};
  start.emplace(kEndOfText, 0);
  for (const unsigned char byte : order) {
    start.emplace(std::string(1, static_cast<char>(byte)), static_cast<TokenId>(texts.size()));
    texts.emplace_back(1, static_cast<char>(byte));
  }
  auto words = count_words(text, *splitter, start);
  Trainer trainer(std::move(start), std::move(texts), std::move(words));
  trainer.run(vocabulary);

  TokenizerParts parts;
  auto learned = trainer.take_vocabulary();
  parts.bpe = Bpe(std::move(learned), trainer.take_merges(), /*ignore_merges=*/false);
  parts.splitter = std::move(splitter).value();
  parts.added = {{0, kEndOfText, true}};
  return Tokenizer(std::move(parts));
}

}  // namespace muster::text
