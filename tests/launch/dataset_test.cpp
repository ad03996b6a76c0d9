#include "launch/dataset.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace muster::launch {
namespace {

class DatasetTest : public ::testing::Test {
 protected:
  DatasetTest() {
    dataset_.name = "verse";
    dataset_.package = "bible-kjv";
    dataset_.command = {"bible", "gen1:1"};
    dataset_.bytes = text_.size();
    dataset_.sha256 = sha256(text_);
    answer(text_);
  }
  void answer(const std::string& text, int code = 0) {
    ProcessResult result;
    result.exit_code = code;
    result.out = text;
    processes_.answer("bible", result);
  }
  Result<std::filesystem::path> make() { return materialise(dataset_, "/p", files_, processes_); }

  std::string text_ = "In the beginning God created the heaven and the earth.\n";
  facts::Dataset dataset_;
  MemoryFileSystem files_;
  FakeProcessRunner processes_;
};

TEST_F(DatasetTest, IsMadeOnce) {
  const auto path = make();
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(*path, "/p/.muster/cache/data/verse.txt");
  EXPECT_EQ(*files_.read(*path), text_);
  ASSERT_TRUE(make().ok());
  EXPECT_EQ(processes_.asked().size(), 1U);
}

TEST_F(DatasetTest, ADamagedCopyIsMadeAgain) {
  ASSERT_TRUE(files_.write("/p/.muster/cache/data/verse.txt", "In the begin").ok());
  ASSERT_TRUE(make().ok());
  EXPECT_EQ(*files_.read("/p/.muster/cache/data/verse.txt"), text_);
}

TEST_F(DatasetTest, AMissingProgramIsNamedWithItsPackage) {
  FakeProcessRunner none;
  const auto path = materialise(dataset_, "/p", files_, none);
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.findings().front().rule, "dataset-program");
  EXPECT_EQ(path.findings().front().hint, "apt-get install bible-kjv");
}

TEST_F(DatasetTest, AnotherTextIsRefusedAndNotKept) {
  for (const std::string& text : {std::string(), text_ + "x", text_.substr(1)}) {
    answer(text);
    const auto path = make();
    ASSERT_FALSE(path.ok());
    EXPECT_EQ(path.findings().front().rule, "dataset-content");
    EXPECT_FALSE(files_.exists("/p/.muster/cache/data/verse.txt"));
  }
}

TEST_F(DatasetTest, AFailedProgramIsNotBelieved) {
  answer(text_, 1);
  EXPECT_EQ(make().findings().front().rule, "dataset-command");
}

TEST_F(DatasetTest, AFullDiskLeavesNothing) {
  files_.fail_after(1);
  EXPECT_FALSE(make().ok());
  EXPECT_FALSE(files_.exists("/p/.muster/cache/data/verse.txt"));
}

}  // namespace
}  // namespace muster::launch
