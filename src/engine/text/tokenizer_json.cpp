// Reading and writing tokenizer.json.
#include <fmt/format.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/document.h"
#include "engine/text/byte_level.h"
#include "engine/text/tokenizer.h"

namespace muster::text {
namespace {

Finding fault(const Position& where, std::string message, std::string hint = {}) {
  return error_at(where, "tokenizer", std::move(message), std::move(hint));
}

std::string shown(const Node& node) {
  return node.is_scalar() ? fmt::format("'{}'", node.text())
                          : fmt::format("a {}", node.type_name());
}

/// What went wrong, thrown within this file only: the reader is a tree of small functions with one
/// way out.
struct Wrong {
  Finding finding;
};

[[noreturn]] void refuse(const Position& where, std::string message, std::string hint = {}) {
  throw Wrong{fault(where, std::move(message), std::move(hint))};
}

/// The value of a key that is there and not null, or null.
const Node* find(const Node& node, std::string_view key) {
  const Node* value = node.find(key);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

const Node& require(const Node& node, std::string_view key, Node::Kind kind, const char* what) {
  const Node* value = find(node, key);
  if (value == nullptr) refuse(node.where(), fmt::format("'{}' is missing", key), what);
  if (value->kind() != kind)
    refuse(value->where(), fmt::format("'{}' is {}", key, shown(*value)), what);
  return *value;
}

const std::string& text_of(const Node& node, std::string_view what) {
  if (!node.is_scalar() || !node.quoted())
    refuse(node.where(), fmt::format("{} is {}", what, shown(node)), "a text");
  return node.text();
}

const std::string& type_of(const Node& node) {
  return text_of(require(node, "type", Node::Kind::kScalar, "the kind of this part"), "'type'");
}

bool flag(const Node& node, std::string_view key, bool otherwise) {
  const Node* value = find(node, key);
  if (value == nullptr) return otherwise;
  const auto answer = value->as_bool();
  if (!answer)
    refuse(value->where(), fmt::format("'{}' is {}", key, shown(*value)), "true or false");
  return *answer;
}

TokenId id_from(const Node& node) {
  const auto id = node.quoted() ? std::nullopt : node.as_int();
  if (!id || *id < 0 || *id >= kMaxVocabulary)
    refuse(node.where(), fmt::format("the token id is {}", shown(node)),
           "an integer from 0, below 2^21");
  return static_cast<TokenId>(*id);
}

/// The parts of a Sequence (under `list`), or the node alone; nothing for null.
std::vector<const Node*> parts_in(const Node* node, std::string_view list) {
  if (node == nullptr) return {};
  if (type_of(*node) != "Sequence") return {node};
  std::vector<const Node*> parts;
  for (const Node& item : require(*node, list, Node::Kind::kSequence, "a list of parts").items())
    for (const Node* part : parts_in(&item, list)) parts.push_back(part);
  return parts;
}

class Reader {
 public:
  Reader(const Node& root) : root_(root) {}

  TokenizerParts read() {
    if (!root_.is_mapping())
      refuse(root_.where(), fmt::format("the tokenizer is {}", shown(root_)), "an object");
    if (const auto normalizers = parts_in(find(root_, "normalizer"), "normalizers");
        !normalizers.empty())
      refuse(normalizers.front()->where(),
             fmt::format("normalizer '{}' is not supported", type_of(*normalizers.front())),
             "a byte-level tokenizer has none");
    TokenizerParts parts;
    read_added(parts);
    read_pre_tokenizer(parts);
    read_model(parts);
    read_post_processor(parts);
    for (const Node* decoder : parts_in(find(root_, "decoder"), "decoders"))
      if (type_of(*decoder) != "ByteLevel")
        refuse(decoder->where(), fmt::format("decoder '{}' is not supported", type_of(*decoder)),
               "ByteLevel");
    return parts;
  }

 private:
  void read_added(TokenizerParts& parts) {
    const Node* list = find(root_, "added_tokens");
    if (list == nullptr) return;
    if (!list->is_sequence())
      refuse(list->where(), fmt::format("'added_tokens' is {}", shown(*list)), "a list");
    std::set<TokenId> ids;
    std::set<std::string> contents;
    for (const Node& item : list->items()) {
      if (!item.is_mapping())
        refuse(item.where(), fmt::format("an added token is {}", shown(item)), "an object");
      AddedToken token;
      token.content =
          text_of(require(item, "content", Node::Kind::kScalar, "the token's text"), "'content'");
      token.id = id_from(require(item, "id", Node::Kind::kScalar, "the token's id"));
      token.special = flag(item, "special", false);
      if (token.content.empty()) refuse(item.where(), "an added token is empty");
      for (const char* key : {"single_word", "lstrip", "rstrip"})
        if (flag(item, key, false))
          refuse(item.where(), fmt::format("added token '{}' has {}, which is not supported",
                                           token.content, key));
      if (!ids.insert(token.id).second)
        refuse(item.where(), fmt::format("id {} is given to two added tokens", token.id));
      if (!contents.insert(token.content).second)
        refuse(item.where(), fmt::format("'{}' is added twice", token.content));
      parts.added.push_back(std::move(token));
    }
  }

  static SplitStep read_step(const Node& node, bool& byte_level) {
    SplitStep step;
    const std::string& type = type_of(node);
    if (type == "ByteLevel") {
      step.kind = SplitStep::Kind::kByteLevel;
      step.add_prefix_space = flag(node, "add_prefix_space", true);
      step.use_regex = flag(node, "use_regex", true);
      byte_level = true;
    } else if (type == "Digits") {
      step.kind = SplitStep::Kind::kDigits;
      step.individual = flag(node, "individual_digits", false);
    } else if (type == "Split") {
      const Node& pattern =
          require(node, "pattern", Node::Kind::kMapping, R"({"Regex": …} or {"String": …})");
      const Node* regex = find(pattern, "Regex");
      const Node* literal = find(pattern, "String");
      if ((regex == nullptr) == (literal == nullptr))
        refuse(pattern.where(), "the pattern is neither a Regex nor a String",
               R"({"Regex": …} or {"String": …})");
      step.literal = literal != nullptr;
      step.regex = text_of(step.literal ? *literal : *regex, "the pattern");
      step.invert = flag(node, "invert", false);
      const Node& behavior = require(node, "behavior", Node::Kind::kScalar, "Isolated or Removed");
      if (behavior.text() == "Removed") {
        step.behavior = SplitStep::Behavior::kRemoved;
      } else if (behavior.text() != "Isolated") {
        refuse(behavior.where(), fmt::format("behavior '{}' is not supported", behavior.text()),
               "Isolated or Removed");
      }
      if (auto made = Pattern::compile(step.literal ? std::string("x") : step.regex); !made)
        refuse(regex->where(), made.findings().front().message);
    } else {
      refuse(node.where(), fmt::format("pre-tokenizer '{}' is not supported", type),
             "ByteLevel, Split or Digits");
    }
    return step;
  }

  void read_pre_tokenizer(TokenizerParts& parts) {
    std::vector<SplitStep> steps;
    bool byte_level = false;
    for (const Node* node : parts_in(find(root_, "pre_tokenizer"), "pretokenizers")) {
      if (byte_level)
        refuse(node->where(), "a pre-tokenizer after ByteLevel is not supported",
               "ByteLevel comes last");
      steps.push_back(read_step(*node, byte_level));
    }
    if (!byte_level)
      refuse(root_.where(), "the tokenizer is not byte-level", "a pre_tokenizer of type ByteLevel");
    auto splitter = Splitter::make(std::move(steps));
    if (!splitter) refuse(root_.where(), splitter.findings().front().message);
    parts.splitter = std::move(splitter).value();
  }

  static void refuse_model_options(const Node& model) {
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      const Node* value = find(model, key);
      if (value != nullptr && !(value->is_scalar() && value->text().empty()))
        refuse(value->where(), fmt::format("'{}' is not supported", key), "null");
    }
    for (const char* key : {"fuse_unk", "byte_fallback"})
      if (flag(model, key, false))
        refuse(find(model, key)->where(), fmt::format("'{}' is not supported", key), "false");
  }

  void read_model(TokenizerParts& parts) {
    const Node& model = require(root_, "model", Node::Kind::kMapping, "an object of type BPE");
    if (type_of(model) != "BPE")
      refuse(model.where(), fmt::format("model type '{}' is not supported", type_of(model)), "BPE");
    refuse_model_options(model);

    std::map<std::string_view, const AddedToken*> added;
    std::set<TokenId> ids;
    std::set<TokenId> as_they_are;
    for (const AddedToken& token : parts.added) added[token.content] = &token;
    Bpe::Vocabulary vocabulary;
    const Node& words = require(model, "vocab", Node::Kind::kMapping, "an object from token to id");
    vocabulary.reserve(words.entries().size());
    for (const auto& entry : words.entries()) {
      const TokenId id = id_from(entry.value);
      // Added tokens may stand in the vocabulary too, as they are and not in visible form.
      const auto is_added = added.find(entry.key);
      if (is_added != added.end() && is_added->second->id != id)
        refuse(entry.value.where(), fmt::format("'{}' has id {} here and {} among the added tokens",
                                                entry.key, id, is_added->second->id));
      auto bytes = is_added != added.end() ? std::optional(entry.key) : from_visible(entry.key);
      if (!bytes || bytes->empty())
        refuse(entry.where, fmt::format("token '{}' stands for no bytes", entry.key),
               "a vocabulary in byte-level form");
      if (is_added != added.end()) as_they_are.insert(id);
      if (!ids.insert(id).second)
        refuse(entry.value.where(), fmt::format("id {} is given to two tokens", id));
      if (!vocabulary.emplace(std::move(*bytes), id).second)
        refuse(entry.where, fmt::format("token '{}' is there twice", entry.key));
    }
    for (const AddedToken& token : parts.added)
      if (ids.contains(token.id) && !as_they_are.contains(token.id))
        refuse(root_.find("added_tokens")->where(),
               fmt::format("added token '{}' has the id {} of another token", token.content,
                           token.id));

    std::optional<TokenId> unknown;
    if (const Node* node = find(model, "unk_token")) {
      const std::string& token = text_of(*node, "'unk_token'");
      const auto bytes = added.contains(token) ? std::optional(token) : from_visible(token);
      const auto known = bytes ? vocabulary.find(*bytes) : vocabulary.end();
      if (known == vocabulary.end())
        refuse(node->where(), fmt::format("unk_token '{}' is not in the vocabulary", token));
      unknown = known->second;
    }
    auto merges = read_merges(model, vocabulary);
    parts.bpe =
        Bpe(std::move(vocabulary), std::move(merges), flag(model, "ignore_merges", false), unknown);
  }

  static std::vector<Bpe::Pair> read_merges(const Node& model, const Bpe::Vocabulary& vocabulary) {
    std::vector<Bpe::Pair> merges;
    std::string joined;
    for (const Node& item :
         require(model, "merges", Node::Kind::kSequence, "a list of pairs").items()) {
      std::string left;
      std::string right;
      if (item.is_sequence() && item.items().size() == 2) {
        left = text_of(item.items()[0], "a merge's part");
        right = text_of(item.items()[1], "a merge's part");
      } else if (item.is_scalar() && item.quoted()) {
        const auto space = item.text().find(' ');
        if (space != std::string::npos) {
          left = item.text().substr(0, space);
          right = item.text().substr(space + 1);
        }
      }
      if (left.empty() || right.empty() || right.find(' ') != std::string::npos)
        refuse(item.where(), fmt::format("the merge {} is not a pair of tokens", shown(item)),
               R"("a b" or ["a", "b"])");
      const auto id = [&](const std::string& visible, std::string& bytes) {
        auto decoded = from_visible(visible);
        const auto known = decoded ? vocabulary.find(*decoded) : vocabulary.end();
        if (known == vocabulary.end())
          refuse(item.where(),
                 fmt::format("the merge's token '{}' is not in the vocabulary", visible));
        bytes += *decoded;
        return known->second;
      };
      joined.clear();
      const TokenId left_id = id(left, joined);
      const TokenId right_id = id(right, joined);
      if (!vocabulary.contains(joined))
        refuse(item.where(),
               fmt::format("what '{}' and '{}' make is not in the vocabulary", left, right));
      merges.emplace_back(left_id, right_id);
    }
    return merges;
  }

  void read_post_processor(TokenizerParts& parts) {
    for (const Node* node : parts_in(find(root_, "post_processor"), "processors")) {
      const std::string& type = type_of(*node);
      if (type == "ByteLevel") continue;  // only moves offsets, which are not kept here
      if (type != "TemplateProcessing")
        refuse(node->where(), fmt::format("post-processor '{}' is not supported", type),
               "ByteLevel or TemplateProcessing");
      const Node& specials = require(*node, "special_tokens", Node::Kind::kMapping, "an object");
      bool after = false;
      for (const Node& item : require(*node, "single", Node::Kind::kSequence, "a list").items()) {
        if (find(item, "Sequence") != nullptr) {
          after = true;
          continue;
        }
        const Node& special =
            require(item, "SpecialToken", Node::Kind::kMapping, "a SpecialToken or a Sequence");
        const std::string& name =
            text_of(require(special, "id", Node::Kind::kScalar, "the token's name"), "'id'");
        const Node* described = find(specials, name);
        if (described == nullptr)
          refuse(item.where(), fmt::format("special token '{}' is not described", name));
        for (const Node& id :
             require(*described, "ids", Node::Kind::kSequence, "a list of ids").items())
          (after ? parts.after : parts.before).push_back(id_from(id));
      }
    }
  }

  const Node& root_;
};

using Json = nlohmann::ordered_json;

Json to_json(const SplitStep& step) {
  switch (step.kind) {
    case SplitStep::Kind::kDigits:
      return {{"type", "Digits"}, {"individual_digits", step.individual}};
    case SplitStep::Kind::kByteLevel:
      return {{"type", "ByteLevel"},
              {"add_prefix_space", step.add_prefix_space},
              {"trim_offsets", true},
              {"use_regex", step.use_regex}};
    case SplitStep::Kind::kSplit:
      break;
  }
  return {{"type", "Split"},
          {"pattern", {{step.literal ? "String" : "Regex", step.regex}}},
          {"behavior", step.behavior == SplitStep::Behavior::kRemoved ? "Removed" : "Isolated"},
          {"invert", step.invert}};
}

Json template_of(const TokenizerParts& parts, const std::map<TokenId, std::string>& names) {
  Json single = Json::array();
  Json specials = Json::object();
  const auto add = [&](TokenId id) {
    const std::string& name = names.at(id);
    single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
    specials[name] = {{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  };
  for (const TokenId id : parts.before) add(id);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  for (const TokenId id : parts.after) add(id);
  Json pair = single;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", specials}};
}

}  // namespace

Result<Tokenizer> Tokenizer::from_json(std::string_view json, const std::string& file) {
  auto document = parse_json(json, file);
  if (!document) return document.error();
  try {
    TokenizerParts parts = Reader(*document).read();
    Tokenizer tokenizer(std::move(parts));
    for (const auto* ids : {&tokenizer.parts_.before, &tokenizer.parts_.after})
      for (const TokenId id : *ids)
        if (!tokenizer.contains(id))
          refuse(find(*document, "post_processor")->where(),
                 fmt::format("its id {} is no token", id));
    return tokenizer;
  } catch (Wrong& wrong) {
    return Failure(std::move(wrong.finding));
  }
}

std::string Tokenizer::to_json() const {
  std::map<TokenId, std::string> names;  // visible form by id; an added token is written as it is
  for (const auto& [bytes, id] : parts_.bpe.vocabulary()) names[id] = to_visible(bytes);
  Json added = Json::array();
  std::set<TokenId> only_added;
  for (const AddedToken& token : parts_.added) {
    if (!names.contains(token.id)) only_added.insert(token.id);
    names[token.id] = token.content;
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", token.special}});
  }
  Json steps = Json::array();
  for (const SplitStep& step : parts_.splitter.steps()) steps.push_back(text::to_json(step));
  // The names are unique: appended without the search of operator[], which would take quadratic
  // time.
  Json vocabulary = Json::object();
  auto& words = vocabulary.get_ref<Json::object_t&>();
  for (const auto& [id, name] : names)
    if (!only_added.contains(id)) words.push_back({name, Json(id)});
  Json merges = Json::array();
  for (const auto& [left, right] : parts_.bpe.merges())
    merges.push_back(fmt::format("{} {}", names.at(left), names.at(right)));

  Json json;
  json["version"] = "1.0";
  json["truncation"] = nullptr;
  json["padding"] = nullptr;
  json["added_tokens"] = std::move(added);
  json["normalizer"] = nullptr;
  json["pre_tokenizer"] =
      steps.size() == 1 ? steps[0] : Json{{"type", "Sequence"}, {"pretokenizers", steps}};
  json["post_processor"] =
      parts_.before.empty() && parts_.after.empty() ? Json(nullptr) : template_of(parts_, names);
  json["decoder"] = {{"type", "ByteLevel"},
                     {"add_prefix_space", true},
                     {"trim_offsets", true},
                     {"use_regex", true}};
  Json model;
  model["type"] = "BPE";
  model["dropout"] = nullptr;
  model["unk_token"] = parts_.bpe.unknown() ? Json(names.at(*parts_.bpe.unknown())) : Json(nullptr);
  model["continuing_subword_prefix"] = nullptr;
  model["end_of_word_suffix"] = nullptr;
  model["fuse_unk"] = false;
  model["byte_fallback"] = false;
  model["ignore_merges"] = parts_.bpe.ignore_merges();
  model["vocab"] = std::move(vocabulary);
  model["merges"] = std::move(merges);
  json["model"] = std::move(model);
  return json.dump(2) + "\n";
}

}  // namespace muster::text
