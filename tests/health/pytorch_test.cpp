// What PyTorch tells on every rank: compared with each other, and with what is expected.
#include <gtest/gtest.h>

#include "fixture.h"
#include "health/readers.h"

namespace muster::health {
namespace {

std::string with_value(const std::string& text, int rank, const std::string& from,
                       const std::string& to) {
  std::size_t line = 0;
  for (int i = 0; i < rank; ++i) line = text.find('\n', line) + 1;
  const std::size_t at = text.find(from, line);
  EXPECT_NE(at, std::string::npos) << from;
  return std::string(text).replace(at, from.size(), to);
}

TEST(Pytorch, ARankThatDiffersIsNamed) {
  const std::string text = log("pytorch-2.8.jsonl");
  const CheckResult good = read("pytorch", text);
  EXPECT_EQ(good.health(), Health::kOk);
  EXPECT_NE(good.evidence().find("torch 2.8.0+cu128, 13 values alike on 4 ranks"),
            std::string::npos)
      << good.evidence();
  const CheckResult odd = read("pytorch", with_value(text, 2, "91002", "90100"));
  EXPECT_EQ(odd.health(), Health::kInvestigate);
  EXPECT_NE(
      odd.evidence().find("backends.cudnn.version: 90100 on rank 2 (n2), 91002 on the other 3"),
      std::string::npos)
      << odd.evidence();
  const CheckResult absent =
      read("pytorch", with_value(text, 1, R"("backends.mkl.available": true, )", ""));
  EXPECT_EQ(absent.health(), Health::kInvestigate) << absent.evidence();
}

TEST(Pytorch, RanksThatDoNotTellAreMissed) {
  const std::string text = log("pytorch-2.8.jsonl");
  const std::string three = text.substr(0, text.rfind('\n', text.size() - 2) + 1);
  EXPECT_EQ(health("pytorch", three), Health::kUnknown);
  EXPECT_EQ(health("pytorch", text + three), Health::kUnknown);  // two runs in one
  EXPECT_EQ(health("pytorch", text.substr(0, text.size() - 20)), Health::kError);
}

TEST(Pytorch, FilesOfRanksBelongTogether) {
  const std::string text = log("pytorch-2.8.jsonl");
  std::vector<Text> files;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    files.push_back({"rank" + std::to_string(files.size()), text.substr(at, end - at)});
    at = end;
  }
  ASSERT_EQ(files.size(), 4U);
  CheckResult result("pytorch");
  read_pytorch_files(files, a_host(), result);
  EXPECT_EQ(result.health(), Health::kOk) << result.evidence();
}

TEST(Pytorch, NoTorchIsAFaultOnlyWhereOthersHaveItOrItIsExpected) {
  const std::string none =
      R"({"muster": "pytorch-environment", "rank": null, "host": "n1", "absent": "No module", "values": {}})"
      "\n";
  EXPECT_EQ(health("pytorch", none), Health::kNotApplicable);
  EXPECT_EQ(health("pytorch", log("pytorch-2.8.jsonl") + none), Health::kInvestigate);
  const std::string broken =
      R"({"muster": "pytorch-environment", "rank": 0, "error": "libcudnn.so.9: cannot open", "values": {}})"
      "\n";
  EXPECT_EQ(health("pytorch", broken), Health::kInvestigate);
}

TEST(Pytorch, IsHeldToWhatIsExpected) {
  const std::string text = log("pytorch-2.8.jsonl");
  const auto of = [&](const std::string& yaml, const std::string& instance = {}) {
    const auto expected = parse_yaml(yaml, "expect.yaml");
    EXPECT_TRUE(expected.ok());
    Host host = a_host(instance);
    host.pytorch_expect = &*expected;
    return read("pytorch", text, host);
  };
  EXPECT_EQ(of("torch.version: \">=2.6\"\ndistributed.nccl: true\n").health(), Health::kOk);
  const CheckResult old = of("torch.version: \">=2.9\"\n");
  EXPECT_EQ(old.health(), Health::kInvestigate);
  EXPECT_NE(old.evidence().find("expect.yaml:1"), std::string::npos) << old.evidence();
  EXPECT_EQ(of("distributed.mpi: true\n").health(), Health::kInvestigate);
  const CheckResult misspelt = of("distributed.ncl: true\n");
  EXPECT_EQ(misspelt.health(), Health::kUnknown);
  EXPECT_NE(misspelt.evidence().find("did you mean \"distributed.nccl\"?"), std::string::npos);
}

TEST(Pytorch, GpusThatTorchDoesNotSeeAreAFault) {
  std::string text = log("pytorch-2.8.jsonl");
  EXPECT_EQ(health("pytorch", text, a_host("p5.48xlarge")), Health::kOk);
  for (int rank = 0; rank < 4; ++rank)
    text = with_value(text, rank, R"("cuda.available": true)", R"("cuda.available": false)");
  EXPECT_EQ(health("pytorch", text, a_host("p5.48xlarge")), Health::kInvestigate);
  EXPECT_EQ(health("pytorch", text), Health::kOk);
}

}  // namespace
}  // namespace muster::health
