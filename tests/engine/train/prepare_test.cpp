#include "engine/train/prepare.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>

#include "engine/text/tokenizer.h"
#include "engine/train/temporary.h"

namespace muster::train {
namespace {

namespace fs = std::filesystem;

std::string verses(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "And it came to pass in the year " + std::to_string(i) +
            " that the word of the \xC3\xA9lder came again.\n";
  return text;
}

std::vector<std::int32_t> all_tokens(TokenStream& stream) {
  std::vector<std::int64_t> tokens(stream.tokens());
  EXPECT_TRUE(stream.read(0, stream.tokens(), tokens.data()).ok());
  return {tokens.begin(), tokens.end()};
}

RC_GTEST_PROP(SplitText, ThePartsAreTheTextAndOneInTwentyIsHeldOut, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "word ", "\n", "\xC3\xA9", "\xF0\x9F\x99\x82", "a much longer line of text\n"));
  std::string text;
  for (const std::string& word : words) text += word;
  const auto parts = split_text(text);
  std::string joined;
  std::size_t held_out = 0;
  for (const TextPart& part : parts) {
    RC_ASSERT(!part.text.empty());
    RC_ASSERT((static_cast<unsigned char>(part.text.front()) & 0xC0U) !=
              0x80U);  // begins with a character
    joined += part.text;
    held_out += part.validation;
  }
  RC_ASSERT(joined == text);
  if (parts.size() >= 11) RC_ASSERT(held_out >= 1);
  RC_ASSERT(held_out <= parts.size() / 20 + 1);
}

TEST(Prepare, TokensDecodeToTheText) {
  const TemporaryDirectory directory;
  const std::string text = verses(300);
  spill(directory.path() / "text", text);
  auto prepared = prepare({directory.path() / "text", "bpe:400", directory.path() / "data"});
  ASSERT_TRUE(prepared.ok()) << to_text(prepared.findings());
  auto corpus = open_corpus(*prepared);
  ASSERT_TRUE(corpus.ok()) << to_text(corpus.findings());
  auto tokenizer = text::Tokenizer::read(corpus->tokenizer);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(corpus->train.vocabulary(), static_cast<std::uint64_t>(tokenizer->vocabulary_size()));
  std::string train;
  std::string validation;
  for (const TextPart& part : split_text(text)) (part.validation ? validation : train) += part.text;
  auto tokens = all_tokens(corpus->train);
  ASSERT_EQ(tokens.back(), tokenizer->end_of_text());
  tokens.pop_back();
  EXPECT_EQ(tokenizer->decode(tokens), train);
  EXPECT_EQ(tokenizer->decode(all_tokens(corpus->validation)), validation);
  EXPECT_GT(validation.size(), 0U);
  EXPECT_LT(tokens.size(), train.size() / 2);  // the tokenizer has learnt something
}

TEST(Prepare, IsDoneOnceForATextAndATokenizer) {
  const TemporaryDirectory directory;
  spill(directory.path() / "text", verses(50));
  const DataRequest request{directory.path() / "text", "bpe:300", directory.path() / "data"};
  auto first = prepare(request);
  ASSERT_TRUE(first.ok());
  const auto made = fs::last_write_time(*first / "train-00000.tokens");
  EXPECT_EQ(*prepare(request), *first);
  EXPECT_EQ(fs::last_write_time(*first / "train-00000.tokens"), made);
  // With the tokenizer that it trained, given by its path, the tokens are the same.
  auto given =
      prepare({request.data, (*first / "tokenizer.json").string(), directory.path() / "other"});
  ASSERT_TRUE(given.ok()) << to_text(given.findings());
  EXPECT_EQ(slurp(*given / "train-00000.tokens"), slurp(*first / "train-00000.tokens"));
  spill(directory.path() / "text", verses(51));
  EXPECT_NE(*prepare(request), *first);
  EXPECT_NE(*prepare({request.data, "bpe:301", request.cache}), *first);
  // Nothing unfinished is left.
  for (const auto& entry : fs::directory_iterator(request.cache))
    EXPECT_EQ(entry.path().extension(), "") << entry.path();
}

TEST(Prepare, ADirectoryOfTextsIsEachTextWithAnEndMark) {
  const TemporaryDirectory directory;
  fs::create_directories(directory.path() / "texts");
  spill(directory.path() / "texts" / "b.txt", verses(40));
  spill(directory.path() / "texts" / "a.txt", "First of all.\n" + verses(30));
  spill(directory.path() / "texts" / "notes.md", "not read");
  auto prepared = prepare({directory.path() / "texts", "bpe:300", directory.path() / "data"});
  ASSERT_TRUE(prepared.ok()) << to_text(prepared.findings());
  auto corpus = open_corpus(*prepared);
  ASSERT_TRUE(corpus.ok());
  auto tokenizer = text::Tokenizer::read(corpus->tokenizer);
  const auto tokens = all_tokens(corpus->train);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), *tokenizer->end_of_text()), 2);
  EXPECT_EQ(tokenizer->decode(tokens).rfind("First of all.", 0), 0U);
}

TEST(Prepare, ADirectoryOfShardsIsTakenAsItIs) {
  const TemporaryDirectory directory;
  auto writer = TokenShardWriter::create(directory.path() / "train-00000.tokens", 1000);
  std::vector<std::int32_t> tokens(1000);
  for (int i = 0; i < 1000; ++i) tokens[static_cast<std::size_t>(i)] = i;
  ASSERT_TRUE(writer->append(tokens).ok());
  ASSERT_TRUE(writer->close().ok());
  auto prepared = prepare({directory.path(), "bpe:300", directory.path() / "data"});
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(*prepared, directory.path());
  auto corpus = open_corpus(*prepared);
  ASSERT_TRUE(corpus.ok());
  EXPECT_EQ(corpus->train.tokens(), 950U);
  EXPECT_EQ(all_tokens(corpus->validation).front(), 950);
  EXPECT_EQ(corpus->tokenizer, "");
}

TEST(Prepare, SaysWhatIsWrongWithTheInput) {
  const TemporaryDirectory directory;
  const auto error_of = [&](const fs::path& data, const std::string& tokenizer = "bpe:300") {
    auto prepared = prepare({data, tokenizer, directory.path() / "data"});
    if (prepared.ok()) return std::string();
    EXPECT_EQ(exit_code_for(prepared.findings()), 2);
    return to_text(prepared.findings());
  };
  const fs::path text = directory.path() / "text";
  EXPECT_NE(error_of(text).find("No such file"), std::string::npos);
  for (const std::string& content : {std::string(), std::string(" \n\n\t \r\n")}) {
    spill(text, content);
    EXPECT_NE(error_of(text).find(text.string() + ": error: the text is empty"), std::string::npos)
        << error_of(text);
  }
  spill(text, "line one\nline \xFF two\n");
  EXPECT_NE(error_of(text).find(text.string() + ":2:6"), std::string::npos) << error_of(text);
  spill(text, std::string("\x7F"
                          "ELF\x02\x01\0\0\0",
                          9));
  EXPECT_NE(error_of(text).find(text.string() + ":1:"), std::string::npos) << error_of(text);
  fs::create_directories(directory.path() / "empty");
  EXPECT_NE(error_of(directory.path() / "empty").find("neither"), std::string::npos);
  spill(text, verses(10));
  EXPECT_NE(error_of(text, "bpe:many").find("not a number"), std::string::npos);
  EXPECT_NE(error_of(text, "bpe:3"), "");
  EXPECT_NE(error_of(text, (directory.path() / "none.json").string()).find("none.json"),
            std::string::npos);
  spill(directory.path() / "tokenizer.json", "{\"model\": ");
  EXPECT_NE(error_of(text, (directory.path() / "tokenizer.json").string()).find("tokenizer.json"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(directory.path() / "data") && !fs::is_empty(directory.path() / "data"));
}

TEST(Prepare, OutputThatCannotBeWrittenIsSaidAsSuch) {
  const TemporaryDirectory directory;
  spill(directory.path() / "text", verses(10));
  spill(directory.path() / "data", "a file where a directory is due");
  auto prepared = prepare({directory.path() / "text", "bpe:300", directory.path() / "data"});
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(exit_code_for(prepared.findings()), 75);
}

}  // namespace
}  // namespace muster::train
