// Deploying, looking, comparing and destroying, with answers of CloudFormation's recorded shape.
#include <gtest/gtest.h>

#include "architectures/clusters.h"
#include "architectures/deploy.h"
#include "architectures/deploy_common.h"
#include "findings_text.h"

namespace muster::architectures {
namespace {

/// CloudFormation as far as these tests need it: stacks by name, each with a list of states that it
/// goes through, one a look.
class FakeCloud {
 public:
  explicit FakeCloud(FakeProcessRunner& runner) {
    runner.answer("aws cloudformation describe-stacks", [this](const Command& command) {
      return describe(word_after(command, "--stack-name"));
    });
    runner.answer("aws cloudformation create-stack",
                  [this](const Command& command) { return start(command, "CREATE"); });
    runner.answer("aws cloudformation update-stack",
                  [this](const Command& command) { return start(command, "UPDATE"); });
    runner.answer("aws cloudformation delete-stack", [this](const Command& command) {
      deleted.push_back(word_after(command, "--stack-name"));
      stacks.erase(deleted.back());
      return ok("");
    });
    runner.answer("aws cloudformation list-stack-resources",
                  [this](const Command&) { return ok(resources); });
    runner.answer("aws cloudformation describe-stack-events",
                  [this](const Command&) { return ok(events); });
    runner.answer("aws cloudformation get-template", [this](const Command&) {
      return ok(nlohmann::json({{"TemplateBody", body}}).dump());
    });
  }

  struct FakeStack {
    std::vector<std::string> states;  ///< the last stays
    std::map<std::string, std::string> tags, outputs, parameters;
  };

  std::map<std::string, FakeStack> stacks;
  std::vector<std::string> created, updated, deleted;
  std::vector<std::string> next_states = {"CREATE_IN_PROGRESS", "CREATE_COMPLETE"};
  std::string resources =
      R"({"StackResourceSummaries": [{"LogicalResourceId": "VPC", "PhysicalResourceId": "vpc-1",
          "ResourceType": "AWS::EC2::VPC", "ResourceStatus": "CREATE_COMPLETE"}]})";
  std::string events = R"({"StackEvents": []})";
  std::string body;
  bool unchanged = false;

 private:
  static std::string word_after(const Command& command, const std::string& option) {
    for (std::size_t i = 0; i + 1 < command.argv.size(); ++i) {
      if (command.argv[i] == option) return command.argv[i + 1];
    }
    return {};
  }

  static Result<ProcessResult> ok(const std::string& text) {
    ProcessResult result;
    result.exit_code = 0;
    result.out = text;
    return result;
  }

  static Result<ProcessResult> refused(const std::string& text) {
    ProcessResult result;
    result.exit_code = 254;
    result.err = "\nAn error occurred (ValidationError) when calling the operation: " + text + "\n";
    return result;
  }

  Result<ProcessResult> describe(const std::string& name) {
    auto list = nlohmann::json::array();
    for (auto& [each, stack] : stacks) {
      if (!name.empty() && each != name) continue;
      nlohmann::json item = {{"StackName", each},
                             {"StackId", "arn:aws:cloudformation:::stack/" + each + "/1"},
                             {"StackStatus", stack.states.front()}};
      if (stack.states.size() > 1 && !name.empty()) stack.states.erase(stack.states.begin());
      for (const auto& [key, value] : stack.tags)
        item["Tags"].push_back({{"Key", key}, {"Value", value}});
      for (const auto& [key, value] : stack.outputs)
        item["Outputs"].push_back({{"OutputKey", key}, {"OutputValue", value}});
      for (const auto& [key, value] : stack.parameters)
        item["Parameters"].push_back({{"ParameterKey", key}, {"ParameterValue", value}});
      list.push_back(item);
    }
    if (list.empty() && !name.empty()) return refused("Stack with id " + name + " does not exist");
    return ok(nlohmann::json({{"Stacks", list}}).dump());
  }

  Result<ProcessResult> start(const Command& command, const std::string& verb) {
    const std::string name = word_after(command, "--stack-name");
    if (verb == "UPDATE" && unchanged) return refused("No updates are to be performed.");
    (verb == "CREATE" ? created : updated).push_back(name);
    FakeStack& stack = stacks[name];
    stack.states = next_states;
    if (name == "c-network") stack.outputs = {{"VPC", "vpc-1"}};
    for (const std::string& word : command.argv) {
      if (!word.starts_with("Key=")) continue;
      const auto comma = word.find(",Value=");
      stack.tags[word.substr(4, comma - 4)] = word.substr(comma + 7);
    }
    return ok(R"({"StackId": "x"})");
  }
};

Plan two_stacks() {
  Plan plan;
  plan.cluster.name = "c";
  plan.cluster.region = "us-east-1";
  PlannedStack network;
  network.id = "network";
  network.name = "c-network";
  network.file = "network.yaml";
  network.template_text = "Resources: {}\n";
  PlannedStack batch = network;
  batch.id = "batch";
  batch.name = "c-batch";
  batch.file = "batch.yaml";
  batch.parameters = {{"VpcId", "", "c-network", "VPC", "stacks.network.VPC"}};
  batch.keeps = {"Repository (AWS::ECR::Repository)"};
  plan.stacks = {network, batch};
  plan.documents = {{"job.json", "{\"vpc\": \"${stacks.network.VPC}\"}\n", ""}};
  return plan;
}

class Deploying : public ::testing::Test {
 protected:
  ClusterReport run(const Plan& plan) { return deploy(plan, {files, runner, clock}, options()); }
  DeployOptions options() const {
    DeployOptions options;
    options.state = "/state";
    options.limit = std::chrono::seconds(600);
    return options;
  }

  FakeProcessRunner runner;
  FakeCloud cloud{runner};
  MemoryFileSystem files;
  ManualClock clock;
};

TEST_F(Deploying, CreatesInOrderAndHandsOutputsOn) {
  const ClusterReport report = run(two_stacks());
  EXPECT_EQ(report.code, kExitOk) << testing::text_of_findings(report.findings);
  EXPECT_EQ(cloud.created, (std::vector<std::string>{"c-network", "c-batch"}));
  EXPECT_EQ(cloud.stacks["c-batch"].tags.at(kClusterTag), "c");
  const auto parameters = files.read("/state/batch.parameters.json");
  ASSERT_TRUE(parameters);
  EXPECT_NE(parameters->find("\"vpc-1\""), std::string::npos) << *parameters;
  EXPECT_EQ(*files.read("/state/job.json"), "{\"vpc\": \"vpc-1\"}\n");
}

TEST_F(Deploying, ASecondTimeChangesNothing) {
  ASSERT_EQ(run(two_stacks()).code, kExitOk);
  const ClusterReport again = run(two_stacks());
  EXPECT_EQ(again.code, kExitOk);
  EXPECT_EQ(cloud.created.size(), 2u);
  EXPECT_TRUE(cloud.updated.empty());
  EXPECT_EQ(again.stacks[1].action, "unchanged");
}

TEST_F(Deploying, UpdatesWhatHasAnotherTemplate) {
  ASSERT_EQ(run(two_stacks()).code, kExitOk);
  Plan plan = two_stacks();
  plan.stacks[1].template_text += "# more\n";
  cloud.next_states = {"UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"};
  EXPECT_EQ(run(plan).stacks[1].action, "updated");
  EXPECT_EQ(cloud.updated, std::vector<std::string>{"c-batch"});
  cloud.unchanged = true;
  plan.stacks[1].template_text += "# a comment\n";
  EXPECT_EQ(run(plan).stacks[1].action, "unchanged");
}

TEST_F(Deploying, GoesOnWithWhatIsUnderWay) {
  cloud.stacks["c-network"] = {
      {"CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"},
      {{kClusterTag, "c"},
       {kDigestTag,
        digest_of(two_stacks().stacks[0], parameters_json(two_stacks().stacks[0], {}))}},
      {{"VPC", "vpc-1"}},
      {}};
  const ClusterReport report = run(two_stacks());
  EXPECT_EQ(report.code, kExitOk) << testing::text_of_findings(report.findings);
  EXPECT_EQ(cloud.created, std::vector<std::string>{"c-batch"});
}

TEST_F(Deploying, ClearsAFailedCreationAwayFirst) {
  cloud.stacks["c-network"] = {{"ROLLBACK_COMPLETE"}, {{kClusterTag, "c"}}, {}, {}};
  EXPECT_EQ(run(two_stacks()).code, kExitOk);
  EXPECT_EQ(cloud.deleted, std::vector<std::string>{"c-network"});
  EXPECT_EQ(cloud.created.size(), 2u);
}

TEST_F(Deploying, LeavesAStackOfSomebodyElseAlone) {
  cloud.stacks["c-network"] = {{"CREATE_COMPLETE"}, {}, {}, {}};
  const ClusterReport report = run(two_stacks());
  EXPECT_EQ(report.code, kExitFailed);
  EXPECT_EQ(report.findings.front().rule, "deploy-foreign");
  EXPECT_TRUE(cloud.created.empty() && cloud.updated.empty());
}

TEST_F(Deploying, TellsTheFailingResourcesOwnReason) {
  cloud.next_states = {"CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE"};
  cloud.events = R"({"StackEvents": [
    {"LogicalResourceId": "c-network", "ResourceType": "AWS::CloudFormation::Stack",
     "ResourceStatus": "ROLLBACK_COMPLETE"},
    {"LogicalResourceId": "Nat", "ResourceType": "AWS::EC2::NatGateway",
     "ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": "Resource creation cancelled"},
    {"LogicalResourceId": "Address", "ResourceType": "AWS::EC2::EIP",
     "ResourceStatus": "CREATE_FAILED",
     "ResourceStatusReason": "The maximum number of addresses has been reached."},
    {"LogicalResourceId": "c-network", "ResourceType": "AWS::CloudFormation::Stack",
     "ResourceStatus": "CREATE_IN_PROGRESS", "ResourceStatusReason": "User Initiated"},
    {"LogicalResourceId": "Old", "ResourceType": "AWS::EC2::EIP",
     "ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": "of an earlier try"}]})";
  const ClusterReport report = run(two_stacks());
  EXPECT_EQ(report.code, kExitFailed);
  EXPECT_EQ(report.findings.back().message,
            "c-network: ROLLBACK_COMPLETE: Address (AWS::EC2::EIP): The maximum number of "
            "addresses has been reached.");
  EXPECT_EQ(cloud.created, std::vector<std::string>{"c-network"});
}

TEST_F(Deploying, IsNotDoneWhereNothingCanBeSeen) {
  cloud.resources = R"({"StackResourceSummaries": [
    {"LogicalResourceId": "Group", "PhysicalResourceId": "", "ResourceType": "",
     "ResourceStatus": "CREATE_COMPLETE"}]})";
  const ClusterReport report = run(two_stacks());
  EXPECT_EQ(report.code, kExitUnverified);
  EXPECT_EQ(report.stacks[0].unknown, std::vector<std::string>{"Group"});
}

TEST_F(Deploying, WaitsOnlyAsLongAsItMay) {
  cloud.next_states = {"CREATE_IN_PROGRESS"};
  const ClusterReport report = run(two_stacks());
  EXPECT_EQ(report.code, kExitTimeLimit);
  EXPECT_EQ(report.findings.back().message, "c-network is CREATE_IN_PROGRESS after 600 s");
}

TEST_F(Deploying, StandsAndDiffersAsAwsSays) {
  const Plan plan = two_stacks();
  EXPECT_EQ(look(plan, {files, runner, clock}).code, kExitFailed);
  EXPECT_EQ(compare(plan, {files, runner, clock}, options()).code, kExitDiffers);
  ASSERT_EQ(run(plan).code, kExitOk);
  cloud.body = plan.stacks[0].template_text;
  cloud.stacks["c-batch"].parameters = {{"VpcId", "vpc-1"}};
  EXPECT_EQ(look(plan, {files, runner, clock}).code, kExitOk);
  EXPECT_EQ(compare(plan, {files, runner, clock}, options()).code, kExitOk);
  cloud.stacks["c-batch"].parameters = {{"VpcId", "vpc-2"}};
  const ClusterReport other = compare(plan, {files, runner, clock}, options());
  EXPECT_EQ(other.code, kExitDiffers);
  EXPECT_EQ(other.stacks[1].differences,
            std::vector<std::string>{"VpcId is \"vpc-2\", not \"vpc-1\""});
}

TEST_F(Deploying, DriftIsADifference) {
  const Plan plan = two_stacks();
  ASSERT_EQ(run(plan).code, kExitOk);
  cloud.body = plan.stacks[0].template_text;
  cloud.stacks["c-batch"].parameters = {{"VpcId", "vpc-1"}};
  ProcessResult started, status, drifts;
  for (ProcessResult* one : {&started, &status, &drifts}) one->exit_code = 0;
  started.out = R"({"StackDriftDetectionId": "d-1"})";
  status.out = R"({"DetectionStatus": "DETECTION_COMPLETE", "StackDriftStatus": "DRIFTED"})";
  drifts.out =
      R"({"StackResourceDrifts": [{"LogicalResourceId": "SecurityGroup",
          "StackResourceDriftStatus": "MODIFIED"}]})";
  runner.answer("aws cloudformation detect-stack-drift", started);
  runner.answer("aws cloudformation describe-stack-drift-detection-status", status);
  runner.answer("aws cloudformation describe-stack-resource-drifts", drifts);
  DeployOptions with_drift = options();
  with_drift.drift = true;
  const ClusterReport report = compare(plan, {files, runner, clock}, with_drift);
  EXPECT_EQ(report.code, kExitDiffers);
  EXPECT_EQ(report.stacks[0].differences,
            std::vector<std::string>{"drifted: SecurityGroup: MODIFIED"});
}

TEST_F(Deploying, DestroysItsOwnLastFirstAndSaysWhatStays) {
  ASSERT_EQ(run(two_stacks()).code, kExitOk);
  cloud.stacks["c-extra"] = {{"CREATE_COMPLETE"}, {{kClusterTag, "c"}}, {}, {}};
  cloud.stacks["other"] = {{"CREATE_COMPLETE"}, {{kClusterTag, "d"}}, {}, {}};
  cloud.stacks["c-plain"] = {{"CREATE_COMPLETE"}, {}, {}, {}};
  const ClusterReport report = destroy(two_stacks(), {files, runner, clock}, options());
  EXPECT_EQ(report.code, kExitOk) << testing::text_of_findings(report.findings);
  EXPECT_EQ(cloud.deleted, (std::vector<std::string>{"c-extra", "c-batch", "c-network"}));
  EXPECT_EQ(cloud.stacks.size(), 2u);
  EXPECT_NE(to_text(report).find("kept: Repository (AWS::ECR::Repository)"), std::string::npos);
}

TEST(Destroying, SaysWhyAStackStays) {
  FakeProcessRunner runner;
  ProcessResult stacks, done, events;
  stacks.exit_code = done.exit_code = events.exit_code = 0;
  stacks.out =
      R"({"Stacks": [{"StackName": "c-network", "StackStatus": "DELETE_FAILED",
          "Tags": [{"Key": "muster:cluster", "Value": "c"}]}]})";
  events.out =
      R"({"StackEvents": [{"LogicalResourceId": "VPC", "ResourceType": "AWS::EC2::VPC",
          "ResourceStatus": "DELETE_FAILED", "ResourceStatusReason": "has dependencies"}]})";
  runner.answer("aws cloudformation describe-stacks", stacks);
  runner.answer("aws cloudformation delete-stack", done);
  runner.answer("aws cloudformation describe-stack-events", events);
  MemoryFileSystem files;
  ManualClock clock;
  const ClusterReport report = destroy(two_stacks(), {files, runner, clock}, {});
  EXPECT_EQ(report.code, kExitFailed);
  EXPECT_EQ(report.findings.back().message,
            "c-network: DELETE_FAILED: VPC (AWS::EC2::VPC): has dependencies");
}

}  // namespace
}  // namespace muster::architectures
