#include "lock/lock.h"

#include <gtest/gtest.h>

namespace muster::lock {
namespace {

std::string digest(char c) {
  return "sha256:" + std::string(64, c);
}

class LockTest : public ::testing::Test {
 protected:
  Outcome look(const LockFile& known) {
    LockOptions options;
    options.indexes = {"https://index.example"};
    Fetcher fetcher(http_, clock_, std::chrono::seconds(1));
    return look_up(
        {{PinKind::kImage, "r.example/a:1", {}, {}, {}}, {PinKind::kPackage, "p", "1", {}, {}}},
        known, options, fetcher);
  }
  void image(const HttpResponse& response) {
    http_.answer("HEAD https://r.example/v2/a/manifests/1", response);
  }
  void package(const std::string& files) {
    http_.answer(
        "GET https://index.example/p/",
        HttpResponse{200, {{"content-type", "application/json"}}, "{\"files\": [" + files + "]}"});
  }
  static std::string file(const std::string& name, char sum) {
    return R"({"filename": ")" + name + R"(", "hashes": {"sha256": ")" + std::string(64, sum) +
           R"("}})";
  }
  static std::string states(const Outcome& outcome) {
    std::string text;
    for (const Entry& entry : outcome.entries) text += std::string(to_string(entry.state)) + " ";
    return text;
  }

  FakeHttpClient http_;
  ManualClock clock_;
};

TEST_F(LockTest, WhatIsFoundIsWrittenAndThenTheSame) {
  image({200, {{"docker-content-digest", digest('a')}}, ""});
  package(file("p-1-py3-none-any.whl", 'b'));
  const Outcome first = look({});
  EXPECT_EQ(states(first), "new new ");
  EXPECT_EQ(states(look(first.lock)), "same same ");
  // A file that came later is no change; one that is gone or another is.
  package(file("p-1-py3-none-any.whl", 'b') + "," + file("p-1.tar.gz", 'c'));
  EXPECT_EQ(states(look(first.lock)), "same same ");
  package(file("p-1-py3-none-any.whl", 'd'));
  EXPECT_EQ(states(look(first.lock)), "same changed ");
  package(file("p-1.tar.gz", 'c'));
  image({200, {{"docker-content-digest", digest('e')}}, ""});
  const Outcome moved = look(first.lock);
  EXPECT_EQ(states(moved), "changed changed ");
  EXPECT_EQ(moved.entries[0].evidence, digest('e') + ", was " + digest('a'));
  EXPECT_EQ(moved.entries[1].evidence, "p-1-py3-none-any.whl is gone");
}

TEST_F(LockTest, WhatCannotBeAskedKeepsItsRow) {
  image({503, {}, ""});
  package("");
  LockFile known;
  known.images["r.example/a:1"] = digest('a');
  known.images["r.example/old:1"] = digest('a');
  const Outcome outcome = look(known);
  EXPECT_EQ(states(outcome), "unreached absent stale ");
  EXPECT_EQ(outcome.lock.images,
            (std::map<std::string, std::string>{{"r.example/a:1", digest('a')}}));
}

TEST_F(LockTest, TheFileIsReadBackAsItWasWritten) {
  LockFile lock;
  lock.images["r.example/a:1"] = digest('a');
  lock.repositories["https://git.example/a.git@v1"] = std::string(40, '1');
  lock.packages["torch==2.15.0"] = {{"torch-2.15.0+cu130-cp312.whl", std::string(64, 'c')}};
  const auto read = parse_lock_file(to_text(lock), "lock.yaml");
  ASSERT_TRUE(read.ok()) << to_string(read.findings().front());
  EXPECT_EQ(*read, lock);
  EXPECT_EQ(*parse_lock_file(to_text({}), "lock.yaml"), LockFile{});
  const auto wrong = parse_lock_file(
      "apiVersion: muster/v1\nkind: Lock\nimages:\n  a:1: sha256:short\n", "lock.yaml");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.findings().front().where.line, 4);
}

}  // namespace
}  // namespace muster::lock
