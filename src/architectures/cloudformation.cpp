#include "architectures/cloudformation.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/aws.h"

namespace muster::architectures {
namespace {

using nlohmann::json;

std::string string_of(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::map<std::string, std::string> pairs_of(const json& object, const char* list, const char* key,
                                            const char* value) {
  std::map<std::string, std::string> pairs;
  const auto found = object.find(list);
  if (found == object.end() || !found->is_array()) return pairs;
  for (const json& item : *found) pairs[string_of(item, key)] = string_of(item, value);
  return pairs;
}

/// The list under `key` of an answer.
Result<json> list_of(const std::string& text, const char* key, const char* command) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains(key) || !document.at(key).is_array())
    return odd_aws_answer(command, text);
  return document.at(key);
}

bool says(const Failure& failure, std::string_view words) {
  return failure.findings.front().message.find(words) != std::string::npos;
}

}  // namespace

bool DeployedStack::is_complete() const {
  return status == "CREATE_COMPLETE" || status == "UPDATE_COMPLETE" || status == "IMPORT_COMPLETE";
}

bool DeployedStack::is_wreck() const {
  return status == "ROLLBACK_COMPLETE" || status == "ROLLBACK_FAILED" ||
         status == "CREATE_FAILED" || status == "DELETE_FAILED";
}

Result<std::vector<DeployedStack>> parse_stack_list(const std::string& text) {
  const auto list = list_of(text, "Stacks", "aws cloudformation describe-stacks");
  if (!list) return list.error();
  std::vector<DeployedStack> stacks;
  for (const json& item : *list) {
    DeployedStack stack;
    stack.name = string_of(item, "StackName");
    stack.id = string_of(item, "StackId");
    stack.status = string_of(item, "StackStatus");
    stack.reason = string_of(item, "StackStatusReason");
    if (stack.name.empty() || stack.status.empty())
      return odd_aws_answer("aws cloudformation describe-stacks", text);
    stack.tags = pairs_of(item, "Tags", "Key", "Value");
    stack.outputs = pairs_of(item, "Outputs", "OutputKey", "OutputValue");
    stack.parameters = pairs_of(item, "Parameters", "ParameterKey", "ParameterValue");
    stacks.push_back(std::move(stack));
  }
  return stacks;
}

Result<std::vector<StackResource>> parse_stack_resources(const std::string& text) {
  const auto list =
      list_of(text, "StackResourceSummaries", "aws cloudformation list-stack-resources");
  if (!list) return list.error();
  std::vector<StackResource> resources;
  for (const json& item : *list)
    resources.push_back({string_of(item, "LogicalResourceId"),
                         string_of(item, "PhysicalResourceId"), string_of(item, "ResourceType"),
                         string_of(item, "ResourceStatus")});
  return resources;
}

Result<std::vector<StackEvent>> parse_stack_events(const std::string& text) {
  const auto list = list_of(text, "StackEvents", "aws cloudformation describe-stack-events");
  if (!list) return list.error();
  std::vector<StackEvent> events;
  for (const json& item : *list)
    events.push_back({string_of(item, "LogicalResourceId"), string_of(item, "ResourceType"),
                      string_of(item, "ResourceStatus"), string_of(item, "ResourceStatusReason"),
                      string_of(item, "PhysicalResourceId")});
  return events;
}

std::string failure_reason(const std::vector<StackEvent>& newest_first, const std::string& stack) {
  std::string first, of_stack;
  for (const StackEvent& event : newest_first) {
    const bool whole = event.type == "AWS::CloudFormation::Stack" && event.resource == stack;
    if (whole && (event.status == "CREATE_IN_PROGRESS" || event.status == "UPDATE_IN_PROGRESS" ||
                  event.status == "DELETE_IN_PROGRESS"))
      break;
    if (whole && of_stack.empty() && !event.reason.empty()) of_stack = event.reason;
    if (whole || !event.status.ends_with("_FAILED")) continue;
    if (event.reason.empty() || event.reason.find("ancelled") != std::string::npos) continue;
    first = fmt::format("{} ({}): {}", event.resource, event.type, event.reason);
  }
  return first.empty() ? of_stack : first;
}

Result<std::string> CloudFormation::ask(std::vector<std::string> words) {
  words.insert(words.begin(), {"aws", "cloudformation"});
  words.insert(words.end(), {"--region", region_});
  return ask_aws(processes_, std::move(words));
}

Result<std::optional<DeployedStack>> CloudFormation::find(const std::string& name) {
  const auto text = ask({"describe-stacks", "--stack-name", name});
  if (!text) {
    if (says(text.error(), "does not exist")) return std::optional<DeployedStack>();
    return text.error();
  }
  auto stacks = parse_stack_list(*text);
  if (!stacks) return stacks.error();
  if (stacks->empty()) return std::optional<DeployedStack>();
  return std::optional<DeployedStack>(std::move(stacks->front()));
}

Result<std::vector<DeployedStack>> CloudFormation::all() {
  const auto text = ask({"describe-stacks"});
  if (!text) return text.error();
  return parse_stack_list(*text);
}

Result<std::vector<StackResource>> CloudFormation::resources(const std::string& name) {
  const auto text = ask({"list-stack-resources", "--stack-name", name});
  if (!text) return text.error();
  return parse_stack_resources(*text);
}

Result<std::string> CloudFormation::reason(const std::string& name) {
  const auto text = ask({"describe-stack-events", "--stack-name", name});
  if (!text) return text.error();
  const auto events = parse_stack_events(*text);
  if (!events) return events.error();
  // Of an id, arn:…:stack/NAME/UUID, the name.
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return failure_reason(*events, name);
  return failure_reason(*events, name.substr(slash + 1, name.find('/', slash + 1) - slash - 1));
}

Result<std::string> CloudFormation::template_of(const std::string& name) {
  const auto text = ask({"get-template", "--stack-name", name, "--template-stage", "Original"});
  if (!text) return text.error();
  const json document = json::parse(*text, nullptr, false);
  if (!document.is_object() || !document.contains("TemplateBody"))
    return odd_aws_answer("aws cloudformation get-template", *text);
  const json& body = document.at("TemplateBody");
  return body.is_string() ? body.get<std::string>() : body.dump(2);
}

namespace {

std::vector<std::string> request_words(const char* verb, const StackRequest& request) {
  std::vector<std::string> words = {verb,
                                    "--stack-name",
                                    request.name,
                                    "--template-body",
                                    "file://" + request.template_file.string(),
                                    "--parameters",
                                    "file://" + request.parameters_file.string()};
  if (!request.capabilities.empty()) {
    words.emplace_back("--capabilities");
    words.insert(words.end(), request.capabilities.begin(), request.capabilities.end());
  }
  words.emplace_back("--tags");
  for (const auto& [key, value] : request.tags)
    words.push_back(fmt::format("Key={},Value={}", key, value));
  return words;
}

}  // namespace

Result<void> CloudFormation::create(const StackRequest& request) {
  const auto text = ask(request_words("create-stack", request));
  if (!text) return text.error();
  return {};
}

Result<bool> CloudFormation::update(const StackRequest& request) {
  const auto text = ask(request_words("update-stack", request));
  if (text) return true;
  if (says(text.error(), "No updates are to be performed")) return false;
  return text.error();
}

Result<void> CloudFormation::remove(const std::string& name) {
  const auto text = ask({"delete-stack", "--stack-name", name});
  if (!text) return text.error();
  return {};
}

Result<std::vector<std::string>> CloudFormation::drift(const std::string& name, Clock& clock,
                                                       std::chrono::seconds limit) {
  const auto started = ask({"detect-stack-drift", "--stack-name", name});
  if (!started) return started.error();
  const std::string id = string_of(json::parse(*started, nullptr, false), "StackDriftDetectionId");
  if (id.empty()) return odd_aws_answer("aws cloudformation detect-stack-drift", *started);
  const auto until = clock.steady() + limit;
  while (true) {
    const auto text =
        ask({"describe-stack-drift-detection-status", "--stack-drift-detection-id", id});
    if (!text) return text.error();
    const json answer = json::parse(*text, nullptr, false);
    const std::string status = string_of(answer, "DetectionStatus");
    if (status == "DETECTION_COMPLETE") break;
    if (status != "DETECTION_IN_PROGRESS")
      return failure("drift-failed",
                     fmt::format("{}: {}", name, string_of(answer, "DetectionStatusReason")));
    if (clock.steady() >= until)
      return failure("drift-time", fmt::format("{}: CloudFormation looked for drift longer than "
                                               "{} s",
                                               name, limit.count()));
    clock.sleep_for(std::chrono::seconds(5));
  }
  const auto text = ask({"describe-stack-resource-drifts", "--stack-name", name,
                         "--stack-resource-drift-status-filters", "MODIFIED", "DELETED"});
  if (!text) return text.error();
  const auto list =
      list_of(*text, "StackResourceDrifts", "aws cloudformation describe-stack-resource-drifts");
  if (!list) return list.error();
  std::vector<std::string> drifted;
  for (const json& item : *list)
    drifted.push_back(fmt::format("{}: {}", string_of(item, "LogicalResourceId"),
                                  string_of(item, "StackResourceDriftStatus")));
  return drifted;
}

}  // namespace muster::architectures
