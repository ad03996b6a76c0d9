#include "engine/train/score_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/document.h"
#include "base/text.h"

namespace muster::train {
namespace {

const char* const kForm = R"({"sequences": [[1, 2, …], …]})";

Finding fault(const Position& where, std::string message, std::string hint = {}) {
  return error_at(where, "score-input", std::move(message), std::move(hint));
}

std::string shown(const Node& node) {
  return node.is_scalar() ? fmt::format("'{}'", node.text())
                          : fmt::format("a {}", node.type_name());
}

}  // namespace

Result<Sequences> parse_sequences(std::string_view json, const std::string& file,
                                  std::int64_t vocabulary) {
  auto document = parse_json(json, file);
  if (!document) return document.error();
  const Node* list = document->find("sequences");
  if (list == nullptr || !list->is_sequence())
    return Failure(fault(list != nullptr ? list->where() : document->where(),
                         "there is no list of sequences", kForm));
  Findings findings;
  for (const auto& entry : document->entries())
    if (entry.key != "sequences")
      findings.push_back(fault(entry.where, fmt::format("unknown key '{}'", entry.key), kForm));
  if (list->items().empty())
    findings.push_back(fault(list->where(), "there is nothing to score", kForm));
  Sequences sequences;
  for (const Node& item : list->items()) {
    if (!item.is_sequence() || item.items().empty()) {
      findings.push_back(fault(item.where(),
                               item.is_sequence() ? "the sequence is empty"
                                                  : fmt::format("the sequence is {}", shown(item)),
                               "a list of at least one token id"));
      continue;
    }
    auto& ids = sequences.emplace_back();
    for (const Node& node : item.items()) {
      const auto id = node.quoted() ? std::nullopt : node.as_int();
      if (!id || *id < 0 || *id >= vocabulary) {
        findings.push_back(fault(node.where(), fmt::format("the token id is {}", shown(node)),
                                 fmt::format("the model has ids 0 to {}", vocabulary - 1)));
        break;
      }
      ids.push_back(*id);
    }
  }
  if (!findings.empty()) return Failure(std::move(findings));
  return sequences;
}

Result<Sequences> windows_of(std::string_view text, const std::string& file,
                             const text::Tokenizer& tokenizer, std::int64_t window,
                             std::int64_t vocabulary) {
  if (text.empty()) return Failure(fault({file}, "the text is empty", "a UTF-8 text"));
  if (auto wrong = find_not_text(text, file)) return Failure(std::move(*wrong));
  const auto ids = tokenizer.encode(text, /*with_specials=*/true);
  if (ids.empty())
    return Failure(fault({file}, "the text has no tokens", "a text that the tokenizer knows"));
  const auto highest = *std::max_element(ids.begin(), ids.end());
  if (highest >= vocabulary)
    return Failure(fault({file},
                         fmt::format("the tokenizer gives id {}, but the model has ids 0 to {}",
                                     highest, vocabulary - 1),
                         "tokenizer and model do not belong together"));
  Sequences sequences;
  const auto size = static_cast<std::size_t>(window);
  for (std::size_t at = 0; at < ids.size(); at += size) {
    const auto end = std::min(at + size, ids.size());
    if (end - at == 1 && !sequences.empty()) {
      sequences.back().push_back(ids[at]);
    } else {
      sequences.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(at),
                             ids.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  return sequences;
}

}  // namespace muster::train
