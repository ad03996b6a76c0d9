// The generator against a server that answers at known times.
#include "load/drive.h"

#include <gtest/gtest.h>

#include "load/stub_server.h"
#include "load/summary.h"

using namespace muster;
using namespace muster::load;
using muster::testing::StubServer;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

DriveOptions options_for(const StubServer& server, const std::string& model) {
  DriveOptions options;
  options.server = server.address();
  options.dialect.model = model;
  options.workload.input = {Lengths::Kind::kFixed, 8, 0};
  options.workload.output = {Lengths::Kind::kFixed, 4, 0};
  options.request_limit = seconds(30);
  options.duration = seconds(60);
  return options;
}

DriveResult must_drive(const DriveOptions& options) {
  auto result = drive(options);
  EXPECT_TRUE(result.ok());
  return result.ok() ? std::move(*result) : DriveResult{};
}

std::string error_of(const std::string& model, Api api = Api::kChat) {
  const StubServer server;
  DriveOptions options = options_for(server, model);
  options.dialect.api = api;
  options.most_conversations = 1;
  options.request_limit = milliseconds(1500);
  const DriveResult result = must_drive(options);
  return result.samples.size() == 1 ? result.samples[0].error : "no sample";
}

}  // namespace

TEST(LoadDrive, EveryInterfaceIsAnsweredStreamingOrNot) {
  for (const Api api :
       {Api::kChat, Api::kCompletions, Api::kKserve, Api::kTgi, Api::kInvocations}) {
    for (const bool stream : {true, false}) {
      const StubServer server;
      DriveOptions options = options_for(server, "ttft=1 gap=1");
      if (api == Api::kKserve) options.dialect.model = "m";
      options.dialect.api = api;
      options.dialect.stream = stream;
      options.most_conversations = 2;
      const DriveResult result = must_drive(options);
      ASSERT_EQ(result.samples.size(), 2U) << api_names()[static_cast<std::size_t>(api)];
      for (const Sample& sample : result.samples) {
        EXPECT_EQ(sample.error, "") << sample.detail;
        EXPECT_EQ(sample.pieces.size(), stream ? 4U : 1U);
      }
      EXPECT_EQ(server.paths()[0], path_of(options.dialect));
    }
  }
}

// Nothing comes sooner than the server sent it; how much later depends on the machine.
TEST(LoadDrive, TimesAreNoEarlierThanTheServers) {
  const StubServer server;
  DriveOptions options = options_for(server, "ttft=30 gap=10");
  options.concurrency = 4;
  options.most_conversations = 20;
  const DriveResult result = must_drive(options);
  ASSERT_EQ(result.samples.size(), 20U);
  const Summary summary = summarise(result, seconds(0), options.duration, {});
  EXPECT_EQ(summary.complete, 20);
  EXPECT_GE(summary.ttft.min(), 29'900'000);
  EXPECT_GE(summary.e2e.min(), 59'900'000);
  EXPECT_EQ(result.most_open, 4);
  EXPECT_EQ(server.most_open(), 4);
}

TEST(LoadDrive, AnOpenLoopDoesNotWaitForSlowAnswers) {
  const StubServer server;
  DriveOptions options = options_for(server, "ttft=400 gap=1");
  options.open_loop = true;
  options.arrivals = *draw_arrivals(Process::kConstant, 50, 50, 0.5, 1);
  const DriveResult result = must_drive(options);
  ASSERT_EQ(result.samples.size(), options.arrivals.size());
  EXPECT_GT(server.most_open(), 10);
  for (std::size_t i = 0; i < result.samples.size(); ++i)
    EXPECT_EQ(result.samples[i].scheduled, options.arrivals[i].at);
}

TEST(LoadDrive, TurnsFollowEachOtherAndCarryTheAnswers) {
  const StubServer server;
  DriveOptions options = options_for(server, "ttft=1 gap=1");
  options.workload.turns = 3;
  options.think = milliseconds(20);
  options.most_conversations = 2;
  options.concurrency = 2;
  const DriveResult result = must_drive(options);
  ASSERT_EQ(result.samples.size(), 6U);
  int last = 0;
  for (const std::string& body : server.bodies()) {
    const auto messages = nlohmann::json::parse(body)["messages"].size();
    if (messages == 5) {
      ++last;
      EXPECT_NE(body.find(" word word word word"), std::string::npos);
    }
  }
  EXPECT_EQ(last, 2);
  for (const Sample& sample : result.samples) {
    for (const Sample& next : result.samples) {
      if (next.conversation == sample.conversation && next.turn == sample.turn + 1) {
        EXPECT_GE(next.scheduled, sample.end + 20'000'000);
      }
    }
  }
}

TEST(LoadDrive, NamesEveryKindOfFailure) {
  EXPECT_EQ(error_of("status=500"), "status-500");
  EXPECT_EQ(error_of("status=429"), "status-429");
  EXPECT_EQ(error_of("ttft=1 cut"), "connection");
  EXPECT_EQ(error_of("ttft=1 garbage"), "malformed");
  EXPECT_EQ(error_of("ttft=1 nodone"), "malformed");
  EXPECT_EQ(error_of("ttft=1 apierror"), "api-error");
  EXPECT_EQ(error_of("silent"), "time-limit");
}

TEST(LoadDrive, SomeFailuresDoNotStopTheRest) {
  const StubServer server;
  DriveOptions options = options_for(server, "ttft=1 gap=1 fail=4");
  options.most_conversations = 12;
  const DriveResult result = must_drive(options);
  const Summary summary = summarise(result, seconds(0), options.duration, {});
  EXPECT_EQ(summary.requests, 12);
  EXPECT_EQ(summary.errors.at("status-503"), 3);
  EXPECT_EQ(summary.examples.at("status-503"), "the stub was told to fail");
}

TEST(LoadDrive, GivesUpWhereNobodyIs) {
  DriveOptions options;
  options.server = "http://127.0.0.1:1";
  options.dialect.model = "m";
  options.duration = seconds(3600);
  const DriveResult result = must_drive(options);
  EXPECT_GE(result.samples.size(), 10U);
  EXPECT_EQ(result.samples[0].error, "unreachable");
}

TEST(LoadDrive, AnInterruptEndsWhatIsOpen) {
  const StubServer server;
  DriveOptions options = options_for(server, "silent");
  options.concurrency = 3;
  options.watch = [](std::uint64_t, std::uint64_t, int, double) { return false; };
  const DriveResult result = must_drive(options);
  EXPECT_TRUE(result.interrupted);
  ASSERT_EQ(result.samples.size(), 3U);
  EXPECT_EQ(result.samples[0].error, "interrupted");
}

TEST(LoadDrive, ALoadThatNeedsMoreConnectionsThanThereMayBeSaysSo) {
  DriveOptions options;
  options.server = "http://127.0.0.1:1";
  options.concurrency = 2'000'000'000;
  const auto result = drive(options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.findings().front().rule, "load-files");
}
