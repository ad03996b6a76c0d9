#include "base/file_system.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "testing.h"

namespace muster {
namespace {

/// The same tests on the disk and in memory: the twin must behave as the real one.
class FileSystemTest : public ::testing::TestWithParam<bool> {
 protected:
  FileSystem& files() {
    return GetParam() ? real_file_system() : static_cast<FileSystem&>(memory_);
  }
  std::filesystem::path root() { return directory_.path(); }

  testing::TemporaryDirectory directory_;
  MemoryFileSystem memory_;
};

TEST_P(FileSystemTest, ReadsWhatIsWritten) {
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(files().write(root() / "d/e/f", content));
  EXPECT_EQ(*files().read(root() / "d/e/f"), content);
  ASSERT_TRUE(files().write(root() / "d/e/f", ""));
  EXPECT_EQ(*files().read(root() / "d/e/f"), "");
  EXPECT_EQ(*files().list(root() / "d/e"), std::vector<std::string>{"f"});
}

TEST_P(FileSystemTest, TellsWhatIsThere) {
  ASSERT_TRUE(files().write(root() / "d/run", "#!/bin/sh\n", true));
  ASSERT_TRUE(files().write(root() / "d/data", "12345"));
  EXPECT_EQ(files().info(root() / "d")->kind, FileInfo::Kind::kDirectory);
  EXPECT_TRUE(files().info(root() / "d/run")->executable);
  EXPECT_FALSE(files().info(root() / "d/data")->executable);
  EXPECT_EQ(files().info(root() / "d/data")->size, 5U);
  EXPECT_FALSE(files().info(root() / "nothing"));
  EXPECT_EQ(*files().list(root() / "d"), (std::vector<std::string>{"data", "run"}));
}

TEST_P(FileSystemTest, AppendsRenamesRemoves) {
  ASSERT_TRUE(files().append(root() / "log", "a"));
  ASSERT_TRUE(files().append(root() / "log", "b"));
  EXPECT_EQ(*files().read(root() / "log"), "ab");
  ASSERT_TRUE(files().write(root() / "d/x", "x"));
  ASSERT_TRUE(files().rename(root() / "d", root() / "e"));
  EXPECT_EQ(*files().read(root() / "e/x"), "x");
  EXPECT_FALSE(files().exists(root() / "d"));
  ASSERT_TRUE(files().rename(root() / "log", root() / "e/x"));  // over a file
  EXPECT_EQ(*files().read(root() / "e/x"), "ab");
  ASSERT_TRUE(files().remove_all(root() / "e"));
  EXPECT_FALSE(files().exists(root() / "e/x"));
  EXPECT_TRUE(files().remove_all(root() / "e"));  // nothing there is no failure
}

TEST_P(FileSystemTest, FailuresNameThePath) {
  ASSERT_TRUE(files().write(root() / "file", "x"));
  const auto check = [&](const Findings& findings, const std::string& path, const char* reason) {
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].where.file, (path.empty() ? root() : root() / path).string());
    EXPECT_NE(findings[0].message.find(reason), std::string::npos) << findings[0].message;
  };
  check(files().read(root() / "nothing").findings(), "nothing", "No such file");
  check(files().read(root()).findings(), "", "Is a directory");
  check(files().list(root() / "nothing").findings(), "nothing", "No such file");
  check(files().write(root() / "file/below", "x").findings(), "file/below", "Not a directory");
  check(files().make_directories(root() / "file").findings(), "file", "");
  check(files().rename(root() / "nothing", root() / "x").findings(), "nothing", "No such file");
  EXPECT_EQ(*files().read(root() / "file"), "x");
}

TEST_P(FileSystemTest, AWriteOverADirectoryLeavesIt) {
  ASSERT_TRUE(files().write(root() / "d/keep", "x"));
  EXPECT_FALSE(files().write(root() / "d", "y"));
  EXPECT_EQ(*files().read(root() / "d/keep"), "x");
  EXPECT_EQ(*files().list(root()),
            std::vector<std::string>{"d"});  // nothing of the attempt is left
}

INSTANTIATE_TEST_SUITE_P(All, FileSystemTest, ::testing::Values(true, false),
                         [](const auto& parameter) { return parameter.param ? "real" : "memory"; });

TEST(RealFileSystemTest, AFailedWriteLeavesTheOldFileAndNoParents) {
  const testing::TemporaryDirectory directory;
  // /dev/full can't be renamed over, so the place is one that can't be written: a name that is too
  // long.
  const std::string name(300, 'n');
  EXPECT_FALSE(real_file_system().write(directory.path() / "a/b" / name, "x"));
  EXPECT_TRUE(real_file_system().list(directory.path())->empty());
}

TEST(RealFileSystemTest, ReadersSeeTheOldOrTheNewFile) {
  const testing::TemporaryDirectory directory;
  const auto path = directory.path() / "file";
  const std::string one(100000, '1');
  const std::string two(100000, '2');
  ASSERT_TRUE(real_file_system().write(path, one));
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i)
      EXPECT_TRUE(real_file_system().write(path, i % 2 == 0 ? two : one));
  });
  for (int i = 0; i < 200; ++i) {
    const auto content = real_file_system().read(path);
    ASSERT_TRUE(content);
    EXPECT_TRUE(*content == one || *content == two);
  }
  writer.join();
  EXPECT_EQ(real_file_system().list(directory.path())->size(), 1U);
}

TEST(RealFileSystemTest, ReadsFilesOfUnknownSize) {
  const auto status = real_file_system().read("/proc/self/status");
  ASSERT_TRUE(status);
  EXPECT_NE(status->find("Name:"), std::string::npos);
}

TEST(RealFileSystemTest, SymlinksAreNotFollowedByInfo) {
  const testing::TemporaryDirectory directory;
  ASSERT_EQ(::symlink("nowhere", (directory.path() / "link").c_str()), 0);
  EXPECT_EQ(real_file_system().info(directory.path() / "link")->kind, FileInfo::Kind::kSymlink);
}

/// A small job of five writes that must leave nothing half done wherever the disk fills up.
Result<void> save(FileSystem& files) {
  for (const char* name : {"part1", "part2", "part3"}) {
    if (auto written = files.write(std::string("/out.tmp/") + name, "new"); !written)
      return written;
  }
  if (auto noted = files.append("/log", "saved\n"); !noted) return noted;
  if (auto removed = files.remove_all("/out"); !removed) return removed;
  return files.rename("/out.tmp", "/out");
}

TEST(MemoryFileSystemTest, FailsAtEveryPlaceInTurn) {
  int failed = 0;
  for (int n = 1;; ++n) {
    MemoryFileSystem files;
    ASSERT_TRUE(files.write("/out/part1", "old"));
    files.fail_after(n);
    const auto saved = save(files);
    if (saved) break;
    ++failed;
    EXPECT_NE(saved.findings()[0].message.find("No space left"), std::string::npos);
    EXPECT_EQ(*files.read("/out/part1"), "old");
    EXPECT_TRUE(save(files));  // once there is room again
    EXPECT_EQ(*files.read("/out/part3"), "new");
  }
  EXPECT_EQ(failed, 4);
}

RC_GTEST_PROP(MemoryFileSystemProperty, ListsWhatWasWritten, ()) {
  MemoryFileSystem files;
  std::map<std::string, std::string> expected;
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
    const std::string name = "f" + std::to_string(*rc::gen::inRange(0, 8));
    const std::string content = *rc::gen::arbitrary<std::string>();
    if (*rc::gen::inRange(0, 4) == 0) {
      RC_ASSERT(files.remove_all("/d/" + name).ok());
      expected.erase(name);
    } else {
      RC_ASSERT(files.write("/d/" + name, content).ok());
      expected[name] = content;
    }
  }
  RC_ASSERT(files.make_directories("/d").ok());
  std::vector<std::string> names;
  for (const auto& [name, content] : expected) {
    names.push_back(name);
    RC_ASSERT(*files.read("/d/../d/" + name) == content);
  }
  RC_ASSERT(*files.list("/d/") == names);
}

}  // namespace
}  // namespace muster
