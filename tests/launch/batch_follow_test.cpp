#include "launch/batch_follow.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace muster::launch {
namespace {

using nlohmann::json;
using End = runs::LauncherResult::End;

constexpr const char* kArn = "arn:aws:batch:eu-west-1:123456789012:job-definition/muster-x:3";

ProcessResult said(std::string out, int code = 0, std::string err = {}) {
  ProcessResult result;
  result.exit_code = code;
  result.out = std::move(out);
  result.err = std::move(err);
  return result;
}

json row(const std::string& id, const std::string& state, const std::string& reason = {}) {
  json job = {
      {"jobId", id}, {"jobName", "muster-x"}, {"status", state}, {"attempts", json::array()}};
  if (!reason.empty()) job["statusReason"] = reason;
  return job;
}

json of_nodes(json job, int nodes) {
  job["nodeProperties"] = {{"numNodes", nodes}, {"mainNode", 0}};
  return job;
}

ProcessResult jobs(std::vector<json> rows) {
  return said(json{{"jobs", std::move(rows)}}.dump());
}

// ---- what AWS prints

TEST(BatchParse, TheDocumentedAnswers) {
  EXPECT_EQ(*parse_registered(R"({"jobDefinitionName": "muster-x", "jobDefinitionArn": ")" +
                              std::string(kArn) + R"(", "revision": 3})"),
            kArn);
  EXPECT_EQ(*parse_submitted(R"({"jobArn": "a", "jobName": "muster-x", "jobId": "876da822"})"),
            "876da822");
  const auto list = parse_jobs(R"({"jobs": [{
    "jobArn": "arn:aws:batch:eu-west-1:123456789012:job/876da822", "jobName": "muster-x",
    "jobId": "876da822#1", "jobQueue": "q", "status": "FAILED",
    "attempts": [{"container": {"exitCode": 137, "logStreamName": "s1"}, "statusReason": "Host EC2 terminated"},
                 {"container": {"exitCode": 1, "logStreamName": "s2"}}],
    "statusReason": "Essential container in task exited", "createdAt": 1, "retryStrategy": {"attempts": 2},
    "container": {"exitCode": 1, "reason": "OutOfMemoryError: Container killed due to memory usage",
                  "logStreamName": "muster-x/default/9c2f"},
    "nodeDetails": {"nodeIndex": 1, "isMainNode": false}}]})");
  ASSERT_TRUE(list.ok()) << to_string(list.findings().front());
  const BatchStatus& job = list->front();
  EXPECT_EQ(job.id, "876da822#1");
  EXPECT_EQ(job.phase(), BatchPhase::kEnded);
  EXPECT_EQ(job.exit_code, 1);
  EXPECT_EQ(job.log_stream, "muster-x/default/9c2f");
  EXPECT_EQ(describe(job),
            "FAILED (Essential container in task exited: OutOfMemoryError: Container killed due to "
            "memory usage), exit code 1, restarted once");
  const auto page = parse_log_events(R"({"events": [
    {"timestamp": 1, "message": "one", "ingestionTime": 2}, {"timestamp": 1, "message": "two"}],
    "nextForwardToken": "f/2", "nextBackwardToken": "b/1"})");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->lines, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(page->next, "f/2");
}

TEST(BatchParse, WhatIsNotUnderstoodIsNoAnswer) {
  for (const char* text : {"", "[]", "{}", "{\"jobs\": 1}", "{\"jobs\": [{}]}", "not json"}) {
    EXPECT_FALSE(parse_jobs(text)) << text;
    EXPECT_FALSE(parse_registered(text)) << text;
    EXPECT_FALSE(parse_submitted(text)) << text;
    EXPECT_FALSE(parse_log_events(text)) << text;
  }
  EXPECT_FALSE(parse_log_events(R"({"events": [{"timestamp": 1}]})"));
  EXPECT_EQ(phase_of_batch("PAUSED"), BatchPhase::kUnknown);
  BatchStatus odd;
  odd.state = "PAUSED";
  EXPECT_EQ(describe(odd), "PAUSED, a state that is not known here");
  EXPECT_EQ(conclude_batch(odd, {}).end, End::kUnknown);
}

TEST(BatchParse, FailuresSayWhatMendsThem) {
  const auto hint = [](const std::string& err) {
    return aws_failure("aws batch submit-job", said("", 255, err)).hint;
  };
  EXPECT_EQ(hint("\nUnable to locate credentials. You can configure credentials by running \"aws "
                 "configure\".\n"),
            "aws configure, or export AWS_PROFILE");
  EXPECT_EQ(hint("You must specify a region. You can also configure your region by running…"),
            "export AWS_REGION");
  EXPECT_NE(hint("An error occurred (ExpiredTokenException) when calling the SubmitJob operation"),
            "");
  EXPECT_EQ(aws_failure("aws batch submit-job", said("", 2)).message,
            "aws batch submit-job: exit code 2");
  ProcessResult slow;
  slow.timed_out = true;
  EXPECT_EQ(aws_failure("aws batch submit-job", slow).message,
            "aws batch submit-job did not answer within its time limit");
}

TEST(BatchParse, TheEndOfAJobNamesTheNodeThatFailed) {
  const auto parsed = [](const json& job) {
    return parse_jobs(json{{"jobs", {job}}}.dump())->front();
  };
  const BatchStatus job = parsed(of_nodes(row("j", "FAILED", "Node 1 failed"), 2));
  json killed = row("j#1", "FAILED", "Essential container in task exited");
  killed["container"] = {{"exitCode", 137}};
  json first = row("j#0", "FAILED");
  first["container"] = {{"exitCode", 0}};
  const auto result = conclude_batch(job, {parsed(first), parsed(killed)});
  EXPECT_EQ(result.end, End::kExited);
  EXPECT_EQ(result.exit_code, 137);
  EXPECT_NE(
      result.detail.find("node 1: FAILED (Essential container in task exited), exit code 137"),
      std::string::npos)
      << result.detail;
  // When node 0 has succeeded the others are ended by Batch: that is no failure.
  EXPECT_EQ(conclude_batch(parsed(row("j", "SUCCEEDED")), {parsed(killed)}).exit_code, 0);
  // A failure of which nothing is known is still one.
  EXPECT_EQ(conclude_batch(parsed(row("j", "FAILED")), {}).exit_code, 1);
  EXPECT_EQ(
      conclude_batch(parsed(row("j", "FAILED", "Job attempt duration exceeded timeout")), {}).end,
      End::kTimedOut);
}

// ---- following

/// A Batch whose job is in one state after another; the last is repeated.
class BatchFollow : public ::testing::Test {
 protected:
  BatchFollow() {
    processes_.answer("aws batch describe-jobs",
                      [this](const Command& command) -> Result<ProcessResult> {
                        const std::string& id = command.argv.at(4);
                        if (id.find('#') != std::string::npos) return jobs(nodes_);
                        const ProcessResult now = states_.front();
                        if (states_.size() > 1) states_.pop_front();
                        return now;
                      });
    processes_.answer("aws batch terminate-job", [this](const Command&) -> Result<ProcessResult> {
      states_ = {jobs({row("j", "FAILED", "ended by muster")})};
      return said("");
    });
    processes_.answer("aws batch deregister-job-definition", said(""));
    processes_.answer(
        "aws logs get-log-events",
        [this](const Command& command) -> Result<ProcessResult> { return log_of(command.argv); });
  }

  ProcessResult log_of(const std::vector<std::string>& argv) const {
    std::string stream;
    std::size_t from = 0;
    for (std::size_t i = 0; i + 1 < argv.size(); ++i) {
      if (argv[i] == "--log-stream-name") stream = argv[i + 1];
      if (argv[i] == "--next-token") from = static_cast<std::size_t>(std::stoi(argv[i + 1]));
    }
    const auto found = streams_.find(stream);
    if (found == streams_.end())
      return said("", 254,
                  "An error occurred (ResourceNotFoundException) when calling the GetLogEvents "
                  "operation: The specified log stream does not exist.");
    json events = json::array();
    for (std::size_t i = from; i < std::min(from + 2, found->second.size()); ++i)
      events.push_back({{"message", found->second[i]}});
    return said(json{{"events", events},
                     {"nextForwardToken", std::to_string(std::min(from + 2, found->second.size()))}}
                    .dump());
  }

  runs::LauncherResult follow(const Tick& tick = [] { return Stop::kNo; }) {
    BatchLogs logs("/run/logs", files_);
    return follow_batch(
        {"j", kArn}, processes_, clock_, options_, tick,
        [this](const BatchStatus& status) { seen_.push_back(describe(status)); }, logs);
  }

  bool asked(const std::string& verb) const {
    for (const Command& command : processes_.asked()) {
      if (command.argv.at(2) == verb) return true;
    }
    return false;
  }

  FakeProcessRunner processes_;
  ManualClock clock_;
  MemoryFileSystem files_;
  BatchFollowOptions options_;
  std::deque<ProcessResult> states_;
  std::vector<json> nodes_;
  std::map<std::string, std::vector<std::string>> streams_;
  std::vector<std::string> seen_;
};

TEST_F(BatchFollow, ToTheEndWithTheLogsOfAllNodes) {
  for (int node = 0; node < 2; ++node) {
    json one = row("j#" + std::to_string(node), "RUNNING");
    one["container"] = {{"logStreamName", "s" + std::to_string(node)}};
    nodes_.push_back(one);
    const std::string rank = "[muster rank " + std::to_string(node) + "] ";
    streams_["s" + std::to_string(node)] = {
        "muster: node " + std::to_string(node) + " of 2 started, 1 processes, on ip",
        rank + "muster: process start rank=" + std::to_string(node) + " world=2",
        rank + "Loss: 1.5", rank + "muster: process end rank=" + std::to_string(node) + " code=0"};
  }
  states_ = {jobs({row("j", "SUBMITTED")}), jobs({of_nodes(row("j", "RUNNABLE"), 2)}),
             jobs({of_nodes(row("j", "RUNNING"), 2)}), jobs({of_nodes(row("j", "RUNNING"), 2)}),
             jobs({of_nodes(row("j", "SUCCEEDED"), 2)})};
  const auto result = follow();
  EXPECT_EQ(result.end, End::kExited);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(seen_, (std::vector<std::string>{"SUBMITTED", "RUNNABLE", "RUNNING", "SUCCEEDED"}));
  EXPECT_EQ(*files_.read("/run/logs/rank-1.log"),
            "muster: process start rank=1 world=2\nLoss: 1.5\nmuster: process end rank=1 code=0\n");
  EXPECT_EQ(*files_.read("/run/logs/node-0.log"),
            "muster: node 0 of 2 started, 1 processes, on ip\n");
  // Whatever Region this machine is set to, the job is in its own.
  for (const Command& command : processes_.asked()) {
    const auto region = std::find(command.argv.begin(), command.argv.end(), "--region");
    ASSERT_NE(region, command.argv.end());
    EXPECT_EQ(*(region + 1), "eu-west-1");
  }
}

TEST_F(BatchFollow, AJobThatNeverGetsItsNodesFailsWithBatchsOwnReason) {
  const std::string reason =
      "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - Service cannot fulfill the capacity requested";
  states_ = {jobs({row("j", "PENDING")}), jobs({row("j", "RUNNABLE")}),
             jobs({row("j", "RUNNABLE", reason)})};
  options_.start_limit = std::chrono::seconds(120);
  const auto result = follow();
  EXPECT_EQ(result.end, End::kStartFailed);
  EXPECT_EQ(result.detail, "Batch job j did not start within 120 s: RUNNABLE (" + reason + ")");
  EXPECT_TRUE(asked("terminate-job"));
}

TEST_F(BatchFollow, WaitingForAnotherJobIsNoStart) {
  options_.start_limit = std::chrono::seconds(10);
  states_.assign(30, jobs({row("j", "PENDING")}));
  states_.push_back(jobs({row("j", "RUNNING")}));
  states_.push_back(jobs({row("j", "SUCCEEDED")}));
  EXPECT_EQ(follow().exit_code, 0);
}

TEST_F(BatchFollow, AStopEndsTheJob) {
  const std::map<Stop, End> ends = {{Stop::kCancelled, End::kCancelled},
                                    {Stop::kTimeLimit, End::kTimedOut},
                                    {Stop::kSilent, End::kHang}};
  for (const auto& [stop, end] : ends) {
    states_ = {jobs({row("j", "RUNNING")})};
    int turns = 0;
    const auto result = follow([&, why = stop] { return ++turns > 5 ? why : Stop::kNo; });
    EXPECT_EQ(result.end, end);
    EXPECT_EQ(result.detail, "Batch job j was ended by muster");
    EXPECT_TRUE(asked("terminate-job"));
  }
}

TEST_F(BatchFollow, AwsThatIsAwayForAWhileIsForgivenAndThenTheJobIsLeftAlone) {
  const auto away = said("", 255, "Could not connect to the endpoint URL: \"https://batch\"");
  states_ = {jobs({row("j", "RUNNING")}), away, away, jobs({row("j", "SUCCEEDED")})};
  EXPECT_EQ(follow().exit_code, 0);
  states_ = {jobs({row("j", "RUNNING")}), away};
  const auto result = follow();
  EXPECT_EQ(result.end, End::kUnknown);
  EXPECT_NE(result.detail.find("Batch job j was left alone: for 300 s AWS could not be asked"),
            std::string::npos)
      << result.detail;
  EXPECT_FALSE(asked("terminate-job"));
}

TEST_F(BatchFollow, ALogThatCannotBeReadIsSaid) {
  json job = row("j", "SUCCEEDED");
  job["container"] = {{"exitCode", 0}, {"logStreamName", "s0"}};
  states_ = {jobs({job})};
  processes_.answer("aws logs get-log-events",
                    said("", 254, "An error occurred (AccessDeniedException) when calling …"));
  const auto result = follow();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.detail.find("logs: aws logs get-log-events: An error occurred (AccessDenied"),
            std::string::npos)
      << result.detail;
}

TEST_F(BatchFollow, SubmissionNamesTheRevision) {
  processes_.answer("aws batch register-job-definition",
                    said(json{{"jobDefinitionArn", kArn}}.dump()));
  processes_.answer("aws batch submit-job", said(R"({"jobId": "j7"})"));
  EXPECT_EQ(*register_batch("{}", processes_), kArn);
  const auto job = submit_batch({"aws", "batch", "submit-job", "--job-name=x"}, kArn, processes_);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->id, "j7");
  EXPECT_EQ(processes_.asked().back().argv.at(4), "--job-definition=" + std::string(kArn));
  states_ = {jobs({})};
  const auto gone = look_at_batch(*job, processes_);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.findings().front().rule, "batch-job-gone");
}

}  // namespace
}  // namespace muster::launch
