#include "engine/train/token_shards.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/train/temporary.h"

namespace muster::train {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, std::uint64_t vocabulary,
           const std::vector<std::int32_t>& tokens) {
  auto writer = TokenShardWriter::create(path, vocabulary);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->append(tokens).ok());
  ASSERT_TRUE(writer->close().ok());
}

RC_GTEST_PROP(TokenShards, AStreamOverShardsReadsBackWhatWasWritten, ()) {
  const TemporaryDirectory directory;
  const auto vocabulary = *rc::gen::element<std::uint64_t>(300, 65536, 65537, 128256);
  const auto parts = *rc::gen::container<std::vector<std::vector<std::int32_t>>>(
      rc::gen::container<std::vector<std::int32_t>>(
          rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(vocabulary))));
  std::vector<fs::path> paths;
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    paths.push_back(directory.path() / ("train-" + std::to_string(i) + ".tokens"));
    write(paths.back(), vocabulary, parts[i]);
    all.insert(all.end(), parts[i].begin(), parts[i].end());
  }
  auto stream = TokenStream::open(paths);
  RC_ASSERT(stream.ok());
  RC_ASSERT(stream->tokens() == all.size());
  const auto begin = *rc::gen::inRange<std::size_t>(0, all.size() + 1);
  const auto end = *rc::gen::inRange<std::size_t>(begin, all.size() + 1);
  std::vector<std::int64_t> read(end - begin);
  RC_ASSERT(stream->read(begin, end - begin, read.data()).ok());
  RC_ASSERT(std::equal(read.begin(), read.end(), all.begin() + static_cast<std::ptrdiff_t>(begin)));
  stream->narrow(begin, end);
  RC_ASSERT(stream->tokens() == end - begin);
  std::vector<std::int64_t> again(end - begin);
  RC_ASSERT(stream->read(0, end - begin, again.data()).ok());
  RC_ASSERT(again == read);
}

TEST(TokenShards, RefusesTokensOutsideTheVocabulary) {
  const TemporaryDirectory directory;
  auto writer = TokenShardWriter::create(directory.path() / "a.tokens", 10);
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE(writer->append({1, 10}).ok());
  EXPECT_FALSE(writer->append({-1}).ok());
}

// Reads everything, or says why not.
std::string reading(const fs::path& path) {
  auto shard = TokenShard::open(path);
  if (!shard) return to_text(shard.findings());
  std::vector<std::int64_t> tokens(shard->tokens());
  auto read = shard->read(0, shard->tokens(), tokens.data());
  return to_text(read.findings());
}

class DamagedShard : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(DamagedShard, AnyFlippedBitAndAnyCutIsFoundAndLocated) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "train-00000.tokens";
  std::vector<std::int32_t> tokens(700'000);  // more than one block
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(i * 7919 % GetParam());
  write(path, GetParam(), tokens);
  ASSERT_EQ(reading(path), "");
  const auto size = static_cast<std::size_t>(fs::file_size(path));
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < 66; ++at) places.push_back(at);
  for (std::size_t at = 66; at < size; at += size / 40) places.push_back(at);
  for (std::size_t at = size - 17; at < size; ++at) places.push_back(at);
  for (const std::size_t at : places) {
    const FlippedBit damage(path, at, static_cast<int>(at % 8));
    const std::string message = reading(path);
    ASSERT_NE(message.find(path.string()), std::string::npos) << "flip at " << at;
    ASSERT_NE(message.find("byte offset"), std::string::npos)
        << "flip at " << at << ": " << message;
  }
  for (const std::size_t at : places) {
    const CutFile damage(path, at);
    const std::string message = reading(path);
    ASSERT_NE(message.find(path.string()), std::string::npos) << "cut at " << at;
    ASSERT_NE(message.find("byte offset " + std::to_string(at)), std::string::npos)
        << "cut at " << at << ": " << message;
  }
  ASSERT_EQ(reading(path), "");
}

INSTANTIATE_TEST_SUITE_P(Widths, DamagedShard, ::testing::Values(50'000, 100'000));

TEST(TokenShards, MissingFilesAndDirectoriesAreErrors) {
  const TemporaryDirectory directory;
  EXPECT_NE(reading(directory.path() / "none").find("No such file"), std::string::npos);
  EXPECT_NE(reading(directory.path()).find("directory"), std::string::npos);
}

}  // namespace
}  // namespace muster::train
