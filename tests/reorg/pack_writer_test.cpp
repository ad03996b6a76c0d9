// Packs that git itself reads back: whatever the blobs, git fsck finds nothing and git cat-file
// gives the bytes.
#include "reorg/pack_writer.h"

#include <thread>

#include <gtest/gtest.h>

#include "reorg/git.h"
#include "shell.h"
#include "testing.h"

namespace muster::reorg {
namespace {

namespace fs = std::filesystem;

std::string sh(const fs::path& folder, const std::string& command) {
  return testing::output_of("cd " + folder.string() + " && " + command);
}

std::vector<fs::path> in(const fs::path& folder) {
  std::vector<fs::path> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(PackWriter, GitReadsWhatItWrites) {
  const muster::testing::TemporaryDirectory folder;
  sh(folder.path(), "git init -q .");
  const fs::path objects = folder.path() / ".git/objects";
  auto made = PackWriter::create(objects);
  ASSERT_TRUE(made.ok());
  // Sizes around where the header of an entry grows, and one of many pieces.
  std::vector<std::string> contents;
  for (const std::size_t size : {0, 1, 15, 16, 17, 2047, 2048, 2049, 300000, 9000000}) {
    std::string content;
    for (std::size_t i = 0; i < size; ++i) content += static_cast<char>(i * 31 % 251);
    contents.push_back(content);
  }
  contents.push_back(contents[3]);  // the same again
  std::vector<ObjectId> ids(contents.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < contents.size(); i += 3)
        ids[i] = (*made)->add(PackedType::kBlob, contents[i]).value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE((*made)->finish().ok());
  made->reset();
  EXPECT_EQ(in(objects / "pack").size(), 2U);  // the pack and its index, nothing unfinished
  EXPECT_EQ(
      sh(folder.path(), "git fsck --strict --full 2>&1 | grep -v '^dangling\\|^notice' || true"),
      "");
  EXPECT_EQ(sh(folder.path(), "git verify-pack -v .git/objects/pack/*.idx | grep -c blob"), "10\n");
  const auto repository = Repository::open(folder.path());
  ASSERT_TRUE(repository.ok());
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto read = repository->blob(ids[i]);
    ASSERT_TRUE(read.ok()) << i;
    EXPECT_TRUE(*read == contents[i]) << i;
  }
}

TEST(PackWriter, WhatIsNotFinishedLeavesNothing) {
  const muster::testing::TemporaryDirectory folder;
  const fs::path objects = folder.path() / "objects";
  {
    auto made = PackWriter::create(objects);
    ASSERT_TRUE(made.ok());
    ASSERT_TRUE((*made)->add(PackedType::kBlob, "some text").ok());
  }
  EXPECT_TRUE(in(objects / "pack").empty());
  auto empty = PackWriter::create(objects);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE((*empty)->finish().ok());
  empty->reset();
  EXPECT_TRUE(in(objects / "pack").empty());
  EXPECT_FALSE(PackWriter::create("/proc/no/such/place").ok());
}

}  // namespace
}  // namespace muster::reorg
