#include "engine/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <unordered_map>

#include <fmt/format.h>

#include "base/file_system.h"

namespace muster::text {

Tokenizer::Tokenizer(TokenizerParts parts) : parts_(std::move(parts)) {
  const auto set = [this](TokenId id, const std::string& text) {
    const auto at = static_cast<std::size_t>(id);
    if (texts_.size() <= at) texts_.resize(at + 1);
    texts_[at] = text;
  };
  for (const auto& [token, id] : parts_.bpe.vocabulary()) set(id, token);
  for (std::size_t i = 0; i < parts_.added.size(); ++i) {
    const AddedToken& token = parts_.added[i];
    set(token.id, token.content);
    if (token.content.empty()) continue;
    first_byte_[static_cast<unsigned char>(token.content.front())] = true;
    added_longest_first_.push_back(i);
  }
  std::stable_sort(added_longest_first_.begin(), added_longest_first_.end(),
                   [this](std::size_t a, std::size_t b) {
                     return parts_.added[a].content.size() > parts_.added[b].content.size();
                   });
}

Result<Tokenizer> Tokenizer::read(const std::filesystem::path& path) {
  auto text = real_file_system().read(path);
  if (!text) return text.error();
  return from_json(*text, path.string());
}

const AddedToken* Tokenizer::added_at(std::string_view text, std::size_t at) const {
  if (!first_byte_[static_cast<unsigned char>(text[at])]) return nullptr;
  for (const std::size_t i : added_longest_first_)
    if (text.substr(at).starts_with(parts_.added[i].content)) return &parts_.added[i];
  return nullptr;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool with_specials) const {
  std::vector<TokenId> ids;
  if (with_specials) ids = parts_.before;
  // Words come back often: each is merged once.
  std::unordered_map<std::string, std::vector<TokenId>, StringHash, std::equal_to<>> seen;
  const auto encode_plain = [&](std::string_view plain) {
    for (const std::string_view piece : parts_.splitter.split(plain).views) {
      auto known = seen.find(piece);
      if (known == seen.end()) {
        std::vector<TokenId> piece_ids;
        parts_.bpe.encode(piece, piece_ids);
        known = seen.emplace(std::string(piece), std::move(piece_ids)).first;
      }
      ids.insert(ids.end(), known->second.begin(), known->second.end());
    }
  };
  std::size_t reached = 0;
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* token = added_at(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    if (at > reached) encode_plain(text.substr(reached, at - reached));
    ids.push_back(token->id);
    at += token->content.size();
    reached = at;
  }
  if (reached < text.size()) encode_plain(text.substr(reached));
  if (with_specials) ids.insert(ids.end(), parts_.after.begin(), parts_.after.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  for (const TokenId id : ids) {
    if (!contains(id))
      throw std::out_of_range(fmt::format("token id {} is not in the vocabulary", id));
    text += *texts_[static_cast<std::size_t>(id)];
  }
  return text;
}

bool Tokenizer::contains(std::int64_t id) const {
  return id >= 0 && id < vocabulary_size() && texts_[static_cast<std::size_t>(id)].has_value();
}

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  for (const AddedToken& added : parts_.added)
    if (added.content == token) return added.id;
  const auto known = parts_.bpe.vocabulary().find(token);
  if (known == parts_.bpe.vocabulary().end()) return std::nullopt;
  return known->second;
}

std::optional<TokenId> Tokenizer::end_of_text() const {
  static constexpr std::array<std::string_view, 5> kNames = {"<|endoftext|>", "<|end_of_text|>",
                                                             "</s>", "<|eot_id|>", "<eos>"};
  for (const std::string_view name : kNames)
    for (const AddedToken& added : parts_.added)
      if (added.special && added.content == name) return added.id;
  return std::nullopt;
}

}  // namespace muster::text
