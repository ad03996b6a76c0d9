// Against Hugging Face's tokenizers (reference/, made by make_reference.py), and against damage.
#include "engine/text/tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

#include "base/text.h"
#include "engine/text/reference.h"

namespace muster::text {
namespace {

Tokenizer load(const std::string& name) {
  auto tokenizer = Tokenizer::read(reference_path(name + ".json"));
  if (!tokenizer) throw std::runtime_error(to_string(tokenizer.findings().front()));
  return std::move(tokenizer).value();
}

class AgainstHuggingFace : public testing::TestWithParam<const char*> {};

TEST_P(AgainstHuggingFace, IdsAreEqual) {
  const auto tokenizer = load(GetParam());
  const auto reference = reference_json("expected.json");
  const auto& wanted = reference["cases"][GetParam()];
  const auto texts = reference["texts"].get<std::vector<std::string>>();
  ASSERT_GT(texts.size(), 20U);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tokenizer.encode(texts[i]), wanted["plain"][i].get<std::vector<TokenId>>())
        << texts[i];
    EXPECT_EQ(tokenizer.encode(texts[i], true),
              wanted["with_specials"][i].get<std::vector<TokenId>>())
        << texts[i];
  }
}

TEST_P(AgainstHuggingFace, ItsOwnJsonMeansTheSame) {
  const auto tokenizer = load(GetParam());
  const auto again = Tokenizer::from_json(tokenizer.to_json(), "again.json");
  ASSERT_TRUE(again.ok()) << to_string(again.findings().front());
  EXPECT_EQ(again->to_json(), tokenizer.to_json());
  EXPECT_EQ(again->vocabulary_size(), tokenizer.vocabulary_size());
  for (const auto& text : reference_json("expected.json")["texts"].get<std::vector<std::string>>())
    EXPECT_EQ(again->encode(text, true), tokenizer.encode(text, true)) << text;
}

INSTANTIATE_TEST_SUITE_P(Reference, AgainstHuggingFace,
                         testing::Values("trained", "gpt2", "smollm", "llama3", "with_prefix"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Tokenizer, TextSurvives) {
  for (const char* name : {"trained", "gpt2", "smollm", "llama3"}) {
    const auto tokenizer = load(name);
    for (const auto& text :
         reference_json("expected.json")["texts"].get<std::vector<std::string>>())
      EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << name;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(reference_text("text.txt"))),
              reference_text("text.txt"));
  }
}

RC_GTEST_PROP(TokenizerProperty, AnyBytesSurvive, (const std::string& text)) {
  static const auto kTokenizer = load("trained");
  RC_ASSERT(kTokenizer.decode(kTokenizer.encode(text)) == text);
}

RC_GTEST_PROP(TokenizerProperty, AnyUnicodeSurvives, ()) {
  static const auto kTokenizer = load("llama3");
  const auto codes = *rc::gen::container<std::vector<char32_t>>(rc::gen::suchThat(
      rc::gen::oneOf(rc::gen::inRange<char32_t>(0, 0x80), rc::gen::inRange<char32_t>(0x80, 0x3000),
                     rc::gen::inRange<char32_t>(0x3000, 0x110000)),
      [](char32_t code) { return code < 0xd800 || code > 0xdfff; }));
  std::string text;
  for (const char32_t code : codes) append_utf8(text, code);
  RC_ASSERT(kTokenizer.decode(kTokenizer.encode(text)) == text);
}

TEST(Tokenizer, KnowsItsTokens) {
  const auto tokenizer = load("llama3");
  EXPECT_EQ(tokenizer.id_of("<|a|>"), 501);
  EXPECT_EQ(tokenizer.end_of_text(), 500);
  EXPECT_EQ(tokenizer.vocabulary_size(), 504);
  EXPECT_FALSE(tokenizer.id_of("nowhere in the vocabulary").has_value());
  EXPECT_TRUE(tokenizer.contains(503));
  EXPECT_FALSE(tokenizer.contains(504));
  EXPECT_FALSE(tokenizer.contains(-1));
  const std::vector<TokenId> unknown = {9999};
  EXPECT_THROW((void)tokenizer.decode(unknown), std::out_of_range);
}

const std::string kSmall =
    R"({"added_tokens": [{"id": 5, "content": "<e>", "special": true}], "pre_tokenizer": {"type": "ByteLevel"},
 "model": {"type": "BPE", "unk_token": "a", "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3}, "merges": [["a", "b"]]}})";

struct Damage {
  const char* from;
  const char* to;
  const char* message;
};

class DamagedTokenizer : public testing::TestWithParam<Damage> {};

TEST_P(DamagedTokenizer, IsLocated) {
  std::string json = kSmall;
  const std::string from = GetParam().from;
  const auto at = json.find(from);
  ASSERT_NE(at, std::string::npos);
  json.replace(at, from.size(), GetParam().to);
  const auto tokenizer = Tokenizer::from_json(json, "t.json");
  ASSERT_FALSE(tokenizer.ok());
  const auto& first = tokenizer.findings().front();
  EXPECT_NE(first.message.find(GetParam().message), std::string::npos) << to_string(first);
  EXPECT_EQ(first.where.file, "t.json");
  EXPECT_GT(first.where.line, 0);
  EXPECT_GT(first.where.column, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Damages, DamagedTokenizer,
    testing::Values(
        Damage{R"("BPE")", R"("Unigram")", "model type 'Unigram'"},
        Damage{R"("merges")", R"("margins")", "'merges' is missing"},
        Damage{R"(["a", "b"])", R"(["a", "c"])", "the merge's token 'c'"},
        Damage{R"(["a", "b"])", R"(["a"])", "not a pair"},
        Damage{R"(["a", "b"])", R"("ab")", "not a pair"},
        Damage{R"(["a", "b"])", R"(["b", "a"])", "make is not in"},
        Damage{R"(["a", "b"])", R"(["a", 1])", "a merge's part"},
        Damage{R"("b": 1)", R"("b": 0)", "id 0 is given to two"},
        Damage{R"("b": 1)", R"("b": -1)", "the token id is '-1'"},
        Damage{R"("b": 1)", R"("b": 99999999999)", "the token id"},
        Damage{R"("b": 1)", R"("b": "1")", "the token id is '1'"},
        Damage{R"("ab": 3)", R"("€": 3)", "stands for no bytes"},
        Damage{R"("ab": 3)", R"("": 3)", "stands for no bytes"},
        Damage{R"("id": 5)", R"("id": 3)", "the id 3 of another token"},
        Damage{R"("id": 5, "content": "<e>")", R"("id": 3, "content": " ")",
               "the id 3 of another token"},
        Damage{R"("content": "<e>")", R"("content": 7)", "'content' is '7'"},
        Damage{R"("content": "<e>")", R"("content": "")", "is empty"},
        Damage{R"("special": true)", R"("special": 1)", "'special' is '1'"},
        Damage{R"("special": true)", R"("lstrip": true)", "lstrip"},
        Damage{R"({"type": "ByteLevel"})", R"({"type": "Metaspace"})", "pre-tokenizer 'Metaspace'"},
        Damage{R"({"type": "ByteLevel"})", R"({"type": "Digits"})", "not byte-level"},
        Damage{R"({"type": "ByteLevel"})", "null", "not byte-level"},
        Damage{
            R"({"type": "ByteLevel"})",
            R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(a"}}]})",
            "pattern '(a' is wrong"},
        Damage{R"({"type": "ByteLevel"})",
               R"({"type": "Split", "behavior": "Isolated", "pattern": {}})",
               "neither a Regex nor"},
        Damage{R"("unk_token": "a")", R"("unk_token": "z")", "unk_token 'z'"},
        Damage{R"("unk_token": "a")", R"("byte_fallback": true)",
               "'byte_fallback' is not supported"},
        Damage{R"("unk_token": "a")", R"("dropout": 0.1)", "'dropout' is not supported"},
        Damage{R"("added_tokens": [)", R"("normalizer": {"type": "NFC"}, "added_tokens": [)",
               "normalizer 'NFC'"},
        Damage{R"("added_tokens": [)", R"("decoder": {"type": "WordPiece"}, "added_tokens": [)",
               "decoder 'WordPiece'"},
        Damage{R"("added_tokens": [)",
               R"("post_processor": {"type": "RobertaProcessing"}, "added_tokens": [)",
               "post-processor 'RobertaProcessing'"},
        Damage{
            R"("added_tokens": [)",
            R"("post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}],
                              "special_tokens": {"x": {"ids": [77]}}}, "added_tokens": [)",
            "its id 77 is no token"}));

TEST(DamagedTokenizers, EveryCutIsRefused) {
  for (std::size_t length = 0; length < kSmall.size(); ++length)
    EXPECT_FALSE(Tokenizer::from_json(std::string_view(kSmall).substr(0, length), "t.json").ok())
        << length;
  EXPECT_TRUE(Tokenizer::from_json(kSmall, "t.json").ok());
}

TEST(DamagedTokenizers, EveryBitFlipIsRefusedOrReads) {
  for (std::size_t bit = 0; bit < kSmall.size() * 8; ++bit) {
    std::string json = kSmall;
    json[bit / 8] = static_cast<char>(json[bit / 8] ^ (1 << (bit % 8)));
    const auto tokenizer = Tokenizer::from_json(json, "t.json");
    if (tokenizer.ok()) {
      (void)tokenizer->encode("abba <e>");
    } else {
      EXPECT_EQ(tokenizer.findings().front().where.file, "t.json");
    }
  }
}

TEST(Tokenizer, AByteThatIsNoTokenIsUnknown) {
  const auto tokenizer = Tokenizer::from_json(kSmall, "t.json");
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->encode("abz"),
            (std::vector<TokenId>{2, 3, 0}));  // with ByteLevel's prefix space
}

TEST(Tokenizer, AFileThatIsNotThereIsNamed) {
  const auto tokenizer = Tokenizer::read("/nonexistent/tokenizer.json");
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_NE(to_string(tokenizer.findings().front()).find("/nonexistent/tokenizer.json"),
            std::string::npos);
}

}  // namespace
}  // namespace muster::text
