// Following objects with a kubectl that says one thing after another, on a clock that jumps.
#include "launch/kubernetes_follow.h"

#include <deque>

#include <gtest/gtest.h>

namespace muster::launch {
namespace {

using std::chrono::seconds;
using End = runs::LauncherResult::End;

ProcessResult said(std::string out, int code = 0, std::string err = {}) {
  ProcessResult result;
  result.exit_code = code;
  result.out = std::move(out);
  result.err = std::move(err);
  return result;
}

std::string conditions(const std::string& type, const std::string& reason = {}) {
  return R"({"conditions":[{"type":")" + type + R"(","status":"True","reason":")" + reason +
         R"("}]})";
}

std::string running(int restarts = 0) {
  return R"({"phase":"Running","containerStatuses":[{"name":"c","restartCount":)" +
         std::to_string(restarts) + R"(,"state":{"running":{}}}]})";
}

class KubernetesFollow : public ::testing::Test {
 protected:
  KubernetesFollow() {
    processes_.answer("kubectl get job", [this](const Command&) -> Result<ProcessResult> {
      ++looks_;
      const ProcessResult now = objects_.front();
      if (objects_.size() > 1) objects_.pop_front();
      return now;
    });
    processes_.answer("kubectl get pods", [this](const Command&) -> Result<ProcessResult> {
      const std::string now = pods_.front();
      if (pods_.size() > 1) pods_.pop_front();
      return said(R"({"items":[{"metadata":{"name":"x-0"},"status":)" + now + "}]}");
    });
    processes_.answer("kubectl get events", said(R"({"items":[{"type":"Warning",
        "reason":"FailedCreate","message":"exceeded quota: gpus"}]})"));
    processes_.answer("kubectl logs", said("[pod/x-0/c] 2026-11-30T17:00:00Z hello\n"));
    processes_.answer("kubectl logs pod/x-0", said("[pod/x-0/c] 2026-11-30T16:00:00Z oh no\n"));
  }

  static ProcessResult object(const std::string& status) {
    return said(R"({"apiVersion":"batch/v1","kind":"Job","status":)" + status + "}");
  }

  runs::LauncherResult follow(const Tick& tick = [] { return Stop::kNo; }) {
    return follow_kubernetes(job_, KubeCluster({"kubectl"}, processes_), "/logs", files_, clock_,
                             options_, tick, {});
  }
  seconds passed() const {
    return std::chrono::duration_cast<seconds>(clock_.steady().time_since_epoch());
  }
  std::string log() const {
    const auto text = files_.read("/logs/x-0.log");
    return text ? *text : std::string();
  }

  KubeJob job_{"job.v1.batch", "Job", "x", "ml", {"app=x"}, 1};
  KubeFollowOptions options_;
  std::deque<ProcessResult> objects_;
  std::deque<std::string> pods_ = {running()};
  int looks_ = 0;
  FakeProcessRunner processes_;
  ManualClock clock_;
  MemoryFileSystem files_;
};

TEST_F(KubernetesFollow, ToItsEndWithItsLog) {
  objects_ = {object("{}"), object(R"({"active":1})"), object(conditions("Complete"))};
  pods_ = {running(), running(), R"({"phase":"Succeeded"})"};
  const auto ended = follow();
  EXPECT_EQ(ended.end, End::kExited) << ended.detail;
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(log(), "hello\n") << "each line once, however often it is read";
}

TEST_F(KubernetesFollow, AServerThatIsAwayForAWhileIsWaitedFor) {
  const ProcessResult away = said("", 1, "The connection to the server was refused\n");
  objects_ = {object(R"({"active":1})"), away, away, away, object(conditions("Complete"))};
  EXPECT_EQ(follow().end, End::kExited);
  objects_ = {object(R"({"active":1})"), away};
  const auto lost = follow();
  EXPECT_EQ(lost.end, End::kUnknown);
  EXPECT_NE(lost.detail.find("left alone"), std::string::npos) << lost.detail;
  EXPECT_NE(lost.detail.find("refused"), std::string::npos) << lost.detail;
}

TEST_F(KubernetesFollow, WhatIsGoneWasDeletedBySomebody) {
  objects_ = {object(R"({"active":1})"),
              said("", 1, "Error from server (NotFound): jobs.batch \"x\" not found\n")};
  const auto ended = follow();
  EXPECT_EQ(ended.end, End::kCancelled);
  EXPECT_NE(ended.detail.find("deleted by somebody else"), std::string::npos) << ended.detail;
}

TEST_F(KubernetesFollow, AQueuesTimeIsNotCountedAndAPodsIs) {
  options_.start_limit = seconds(60);
  pods_ = {R"({"phase":"Pending"})"};
  // Held back for more than ten minutes, then let in.
  objects_.assign(80, object(conditions("Suspended")));
  objects_.push_back(object("{}"));
  const auto ended = follow();
  EXPECT_EQ(ended.end, End::kStartFailed) << ended.detail;
  EXPECT_GT(passed(), seconds(600));
  EXPECT_LT(passed(), seconds(900));
}

TEST_F(KubernetesFollow, PodsThatAreNotMadeAreCountedWithTheReason) {
  options_.start_limit = seconds(30);
  job_.pods = 3;
  objects_ = {object("{}")};
  const auto ended = follow();
  EXPECT_EQ(ended.end, End::kStartFailed);
  EXPECT_NE(ended.detail.find("2 pods were not made: FailedCreate: exceeded quota: gpus"),
            std::string::npos)
      << ended.detail;
}

TEST_F(KubernetesFollow, WhatAContainerSaidBeforeItsRestartIsKept) {
  objects_ = {object(R"({"active":1})"), object(R"({"active":1})"), object(conditions("Complete"))};
  pods_ = {running(), running(1), R"({"phase":"Succeeded"})"};
  follow();
  EXPECT_NE(log().find("oh no"), std::string::npos) << log();
}

TEST_F(KubernetesFollow, AStopIsPassedOn) {
  objects_ = {object(R"({"active":1})")};
  for (const auto& [stop, end] : {std::pair{Stop::kCancelled, End::kCancelled},
                                  {Stop::kTimeLimit, End::kTimedOut},
                                  {Stop::kSilent, End::kHang},
                                  {Stop::kInterrupted, End::kInterrupted}}) {
    const auto ended = follow([&, wanted = stop] { return looks_ > 2 ? wanted : Stop::kNo; });
    EXPECT_EQ(ended.end, end);
    EXPECT_FALSE(ended.detail.empty());
    looks_ = 0;
  }
}

TEST_F(KubernetesFollow, ALogThatCantBeReadOrKeptIsSaid) {
  objects_ = {object(conditions("Complete"))};
  pods_ = {R"({"phase":"Succeeded"})"};
  processes_.answer("kubectl logs",
                    said("", 1, "Error from server (Forbidden): no logs for you\n"));
  EXPECT_NE(follow().detail.find("its logs could not be read: kubectl logs: no logs for you"),
            std::string::npos);
  processes_.answer("kubectl logs", said("[pod/x-0/c] 2026-11-30T17:00:00Z hello\n"));
  files_.fail_after(1);
  EXPECT_NE(follow().detail.find("its logs could not be kept"), std::string::npos);
}

TEST_F(KubernetesFollow, WhatWasMadeBeforeARefusalIsDeletedAgain) {
  int asked = 0;
  std::string deleted;
  processes_.answer("kubectl create", [&](const Command&) -> Result<ProcessResult> {
    // The first document is checked and made, the second refused by the check.
    return ++asked == 3 ? said("", 1, "Error from server (Invalid): bad spec\n") : said("made\n");
  });
  processes_.answer("kubectl delete", [&](const Command& command) -> Result<ProcessResult> {
    deleted = command.input;
    return said("");
  });
  const auto made = KubeCluster({"kubectl"}, processes_).create({"kind: A\n", "kind: B\n"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.findings().front().message, "kubectl create: bad spec");
  EXPECT_EQ(deleted, "kind: A\n");
}

TEST_F(KubernetesFollow, WhatMayHaveBeenMadeWithoutAnAnswerIsDeletedToo) {
  int asked = 0;
  std::string deleted;
  processes_.answer("kubectl create", [&](const Command&) -> Result<ProcessResult> {
    ProcessResult answer = said("made\n");
    answer.timed_out = ++asked == 4;  // the second document, behind its check
    return answer;
  });
  processes_.answer("kubectl delete", [&](const Command& command) -> Result<ProcessResult> {
    deleted = command.input;
    return said("");
  });
  const auto made = KubeCluster({"kubectl"}, processes_).create({"kind: A\n", "kind: B\n"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.findings().front().message, "kubectl create did not answer within 30 s");
  EXPECT_EQ(deleted, "kind: A\n---\nkind: B\n");
}

}  // namespace
}  // namespace muster::launch
