// What happens when things go wrong: everywhere, one place after the other.
#include <sys/mount.h>

#include "engine/train/checkpoint.h"
#include "engine/train/faults.h"
#include "engine/train/jobs.h"

namespace muster::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Faulty = TrainingTest;

TEST(FaultOption, IsReadOrExplained) {
  EXPECT_EQ(*parse_fault("kill:1:5"), (Fault{Fault::Kind::kKill, 1, 5, Place::kForward, 0}));
  EXPECT_EQ(*parse_fault("stop:0:2:backward"),
            (Fault{Fault::Kind::kStop, 0, 2, Place::kBackward, 0}));
  EXPECT_EQ(*parse_fault("slow=250:3:1"), (Fault{Fault::Kind::kSlow, 3, 1, Place::kForward, 250}));
  for (const char* wrong : {"", "kill", "kill:1", "kill:x:1", "kill:1:-1", "kill:1:1:nowhere",
                            "kill:1:1:save:more", "slow:1:1", "slow=:1:1", "burn:0:1"}) {
    EXPECT_FALSE(parse_fault(wrong).ok()) << wrong;
  }
}

TEST_F(Faulty, KilledAnywhereAndResumedItEndsWithTheSameBits) {
  ASSERT_EQ(train(2, "whole").exit_code, 0);
  const std::string expected = outcome("whole");
  ASSERT_NE(expected, "no end");
  // Checkpoints are made at steps 2, 4 and 6.
  const std::vector<std::string> faults = {
      "kill:0:1",      "kill:1:3:backward", "kill:1:3:update",   "kill:0:4:save",
      "kill:1:4:save", "kill:0:5",          "kill:1:6:backward", "kill:0:6:save"};
  for (const std::string& fault : faults) {
    const std::string out = "out-" + fault;
    const auto killed = train(2, out, {"--inject-fault", fault});
    ASSERT_NE(killed.exit_code, 0) << fault;
    ASSERT_FALSE(killed.timed_out) << fault;
    const auto resumed = train(2, out);
    ASSERT_EQ(resumed.exit_code, 0) << fault << ": " << resumed.err;
    for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(outcome(out, rank), expected) << fault;
    fs::remove_all(path(out));
  }
}

TEST_F(Faulty, AskedToStopItSavesAndGoesOnFromThere) {
  const std::vector<std::string> accumulating = {"--micro-batch",      "1",  "--global-batch", "8",
                                                 "--checkpoint-every", "100"};
  ASSERT_EQ(train(2, "whole", accumulating).exit_code, 0);
  for (const std::string fault : {"term:1:3:backward", "term:0:4"}) {
    auto options = accumulating;
    options.insert(options.end(), {"--inject-fault", fault});
    const auto stopped = train(2, "out-" + fault, options);
    EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
    EXPECT_EQ(last("out-" + fault, "end").at("reason"), "interrupted");
    EXPECT_EQ(last("out-" + fault, "checkpoint").at("step"),
              last("out-" + fault, "step").at("step"));
    ASSERT_EQ(train(2, "out-" + fault, accumulating).exit_code, 0);
    EXPECT_EQ(outcome("out-" + fault), outcome("whole"));
  }
}

TEST_F(Faulty, ARankThatHangsIsNamedWithinTheLimit) {
  for (const std::string fault : {"stop:1:3", "stop:0:2:backward", "stop:1:4:update"}) {
    const std::string out = "out-" + fault;
    const auto begun = std::chrono::steady_clock::now();
    const auto result = train(2, out, {"--inject-fault", fault, "--comm-timeout", "2"});
    EXPECT_EQ(result.exit_code, 124) << fault << result.err;
    EXPECT_FALSE(result.timed_out);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
    const int hung = fault[5] - '0';
    const json error = last(out, "error", 1 - hung);
    ASSERT_FALSE(error.is_null());
    EXPECT_EQ(error.at("kind"), "timeout");
    EXPECT_FALSE(error.at("operation").get<std::string>().empty());
    ASSERT_EQ(error.at("missing").size(), 1U) << error;
    EXPECT_EQ(error.at("missing").at(0).at("rank"), hung);
    const std::string host = last(out, "start", 1 - hung).at("host");
    EXPECT_EQ(error.at("missing").at(0).at("host"), host);
    EXPECT_NE(result.err.find("rank " + std::to_string(hung)), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(host), std::string::npos) << result.err;
  }
}

TEST_F(Faulty, ALossThatIsNotANumberEndsTheRun) {
  const auto result = train(2, "out", {"--inject-fault", "nan:1:3"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(last("out", "error", rank).at("kind"), "nonfinite");
    EXPECT_EQ(last("out", "step", rank).at("step"), 2);
    EXPECT_EQ(last("out", "end", rank).at("reason"), "error");
  }
  // The update was not made: the run can go on from before.
  EXPECT_EQ(train(2, "out").exit_code, 0);
}

TEST_F(Faulty, ASecondRunInTheSameDirectoryRefuses) {
  fs::create_directories(path("out"));
  auto lock = DirectoryLock::take(path("out"));
  ASSERT_TRUE(lock.ok());
  const auto result = train(1, "out");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("already training"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("process " + std::to_string(::getpid())), std::string::npos)
      << result.err;
}

// A file system of its own, of limited size; needs the right to mount.
class Disk : public TrainingTest {
 protected:
  void SetUp() override {
    TrainingTest::SetUp();
    fs::create_directories(path("out/checkpoints"));
  }
  void mount(const std::string& size) {
    mounted_ = ::mount("tmpfs", path("out/checkpoints").c_str(), "tmpfs", 0,
                       ("size=" + size).c_str()) == 0;
    ASSERT_TRUE(mounted_) << "these tests need the right to mount: run them as root";
  }
  void TearDown() override {
    if (mounted_) ::umount2(path("out/checkpoints").c_str(), MNT_DETACH);
  }
  bool mounted_ = false;
};

TEST_F(Disk, FullDuringACheckpointThePreviousOneIsWholeAndTheRunCanGoOn) {
  ASSERT_EQ(train(2, "whole").exit_code, 0);
  ASSERT_NO_FATAL_FAILURE(mount("700k"));  // one checkpoint is 420 kB
  const auto full = train(2, "out");
  EXPECT_EQ(full.exit_code, 75) << full.err;
  EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("the previous checkpoint is intact: " + checkpoint("out", 2).string()),
            std::string::npos)
      << full.err;
  EXPECT_EQ(last("out", "end").at("reason"), "error");
  EXPECT_FALSE(fs::exists(checkpoint("out", 4)));
  ASSERT_EQ(::mount(nullptr, path("out/checkpoints").c_str(), nullptr, MS_REMOUNT, "size=10m"), 0);
  const auto resumed = train(2, "out");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(last("out", "resume").at("step"), 2);
  EXPECT_EQ(outcome("out"), outcome("whole"));
}

TEST_F(Disk, ReadOnlyDuringACheckpointThePreviousOneIsWhole) {
  ASSERT_NO_FATAL_FAILURE(mount("10m"));
  ASSERT_EQ(train(2, "out", {"--steps", "2"}).exit_code, 0);
  ASSERT_EQ(
      ::mount(nullptr, path("out/checkpoints").c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr),
      0);
  const auto result = train(2, "out");
  EXPECT_EQ(result.exit_code, 75) << result.err;
  EXPECT_NE(result.err.find("Read-only file system"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("the previous checkpoint is intact"), std::string::npos) << result.err;
  EXPECT_TRUE(Checkpoint::open(checkpoint("out", 2)).ok());
}

}  // namespace
}  // namespace muster::train
