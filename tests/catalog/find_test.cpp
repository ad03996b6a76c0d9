#include <gtest/gtest.h>

#include "fixture.h"

namespace muster::catalog {
namespace {

std::string manifest(const std::string& name, bool is_default) {
  std::string text = kManifest;
  text.replace(text.find("training/native/llama/tiny"), 26, name);
  if (!is_default) text.replace(text.find("default: true"), 13, "default: false");
  return text;
}

class FindCase : public ::testing::Test {
 protected:
  void add(const std::string& name, bool is_default) {
    ASSERT_TRUE(
        files_.write("/p/test_cases/" + name + "/case.yaml", manifest(name, is_default)).ok());
  }
  std::string found(const std::string& name) {
    const auto path = find_case(files_, "/p", name);
    return path ? path->string() : path.findings()[0].message + " | " + path.findings()[0].hint;
  }
  MemoryFileSystem files_;
};

TEST_F(FindCase, ByNameByLibraryByPath) {
  add("training/native/llama/tiny", true);
  add("training/native/llama/big", false);
  add("training/native/gpt/small", false);
  const std::string tiny = "/p/test_cases/training/native/llama/tiny/case.yaml";
  EXPECT_EQ(found("training/native/llama/tiny"), tiny);
  EXPECT_EQ(found("training/native/llama"), tiny);
  EXPECT_EQ(found("training/native/llama/"), tiny);
  EXPECT_EQ(found("test_cases/training/native/llama"), tiny);
  EXPECT_EQ(found("training/native/llama/big"),
            "/p/test_cases/training/native/llama/big/case.yaml");
  EXPECT_EQ(found("training/native/gpt"), "/p/test_cases/training/native/gpt/small/case.yaml");
  EXPECT_EQ(found(tiny), tiny);
  EXPECT_EQ(found("/p/test_cases/training/native/llama/big"),
            "/p/test_cases/training/native/llama/big/case.yaml");
}

TEST_F(FindCase, UnknownAndAmbiguousAreExplained) {
  add("training/native/llama/tiny", true);
  add("training/native/llama/big", false);
  add("inference/vllm/a", false);
  add("inference/vllm/b", false);
  EXPECT_EQ(found("training/native/lama"),
            "unknown case \"training/native/lama\" | did you mean \"training/native/llama\"?");
  EXPECT_EQ(found("training/native/llama/tinny"),
            "unknown case \"training/native/llama/tinny\" | did you mean "
            "\"training/native/llama/tiny\"?");
  EXPECT_EQ(found("inference/vllm"),
            "\"inference/vllm\" is a folder of 2 cases, none of them marked default | one of: "
            "inference/vllm/a, inference/vllm/b");
  add("training/native/llama/other", true);
  EXPECT_NE(found("training/native/llama").find("several of them marked default"),
            std::string::npos);
}

TEST_F(FindCase, AProjectWithoutCasesSaysSo) {
  EXPECT_NE(found("training/native/llama").find("there are no cases below"), std::string::npos);
  const auto entries = list_cases(files_, "/p");
  ASSERT_TRUE(entries.ok());
  EXPECT_TRUE(entries->empty());
}

TEST_F(FindCase, MicroBenchmarksAreCasesUnderTheirPath) {
  add("training/native/llama/tiny", true);
  const std::string name = "micro-benchmarks/nccl-tests/all-reduce";
  const std::string file = "/p/" + name + "/case.yaml";
  ASSERT_TRUE(files_.write(file, manifest(name, true)).ok());
  EXPECT_EQ(found(name), file);
  EXPECT_EQ(found("micro-benchmarks/nccl-tests"), file);
  EXPECT_EQ(found("test_cases/training/native/llama"),
            "/p/test_cases/training/native/llama/tiny/case.yaml");
  EXPECT_NE(found("nccl-tests/all-reduce").find("unknown case"), std::string::npos);
  EXPECT_EQ(case_name_of(file, "/p"), name);
  EXPECT_EQ(case_name_of("/p/micro-benchmarks/case.yaml", "/p"), "");
  const auto entries = list_cases(files_, "/p");
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, name);
  EXPECT_TRUE((*entries)[0].problems.empty()) << to_string((*entries)[0].problems[0]);
}

TEST_F(FindCase, ABrokenManifestIsListedWithItsProblems) {
  add("training/native/llama/tiny", true);
  ASSERT_TRUE(files_.write("/p/test_cases/training/native/llama/bad/case.yaml", "a: [\n").ok());
  ASSERT_TRUE(files_.write("/p/test_cases/training/native/llama/odd/case.yaml", "foo: bar\n").ok());
  const auto entries = list_cases(files_, "/p");
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "training/native/llama/bad");
  EXPECT_FALSE((*entries)[0].problems.empty());
  EXPECT_EQ((*entries)[1].problems[0].rule, "manifest-no-kind");
  EXPECT_TRUE((*entries)[2].problems.empty());
  EXPECT_EQ((*entries)[2].profiles, (std::vector<std::string>{"smoke", "bench"}));
}

TEST_F(FindCase, LoadSettlesAndNamesTheFile) {
  add("training/native/llama/tiny", true);
  const auto resolved = load_case(files_, "/p", "training/native/llama", "smoke", {});
  ASSERT_TRUE(resolved.ok()) << to_string(resolved.findings()[0]);
  EXPECT_EQ(resolved->values.batch.steps, 20);
  EXPECT_EQ(resolved->file, "/p/test_cases/training/native/llama/tiny/case.yaml");
  ASSERT_TRUE(files_
                  .write("/p/test_cases/training/native/llama/tiny/case.yaml",
                         manifest("training/native/llama/moved", true))
                  .ok());
  const auto moved = load_case(files_, "/p", "training/native/llama", "smoke", {});
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.findings()[0].rule, "case-name");
}

}  // namespace
}  // namespace muster::catalog
