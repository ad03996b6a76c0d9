#include "launch/batch_parse.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::launch {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, BatchPhase>, 7> kBatchStates = {{
    {"SUBMITTED", BatchPhase::kQueued},
    {"PENDING", BatchPhase::kQueued},
    {"RUNNABLE", BatchPhase::kStarting},
    {"STARTING", BatchPhase::kStarting},
    {"RUNNING", BatchPhase::kRunning},
    {"SUCCEEDED", BatchPhase::kEnded},
    {"FAILED", BatchPhase::kEnded},
}};

json parse_object(const std::string& text) {
  json document = json::parse(text, nullptr, false);
  return document.is_object() ? document : json();
}

/// Empty when it is not there or no text.
std::string batch_text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& batch_object(const json& object, const char* key) {
  static const json kEmpty = json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kEmpty;
}

std::optional<int> batch_number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int>();
}

/// "Essential container in task exited" says nothing that "OutOfMemoryError: …" does not say
/// better.
std::string join_reasons(const std::string& job, const std::string& container) {
  if (container.empty() || job.find(container) != std::string::npos) return job;
  return job.empty() ? container : job + ": " + container;
}

BatchStatus status_of(const json& job) {
  BatchStatus status;
  status.id = batch_text(job, "jobId");
  status.state = batch_text(job, "status");
  const json& container = batch_object(job, "container");
  status.reason = join_reasons(batch_text(job, "statusReason"), batch_text(container, "reason"));
  status.exit_code = batch_number(container, "exitCode");
  status.log_stream = batch_text(container, "logStreamName");
  status.nodes = batch_number(batch_object(job, "nodeProperties"), "numNodes").value_or(0);
  const auto attempts = job.find("attempts");
  if (attempts != job.end() && attempts->is_array())
    status.attempts = static_cast<int>(attempts->size());
  return status;
}

/// "muster-x:3#1" -> "1".
std::string node_index(const std::string& id) {
  const auto hash = id.rfind('#');
  return hash == std::string::npos ? std::string("0") : id.substr(hash + 1);
}

}  // namespace

BatchPhase phase_of_batch(std::string_view state) {
  const auto* const found = std::find_if(kBatchStates.begin(), kBatchStates.end(),
                                         [&](const auto& known) { return known.first == state; });
  return found == kBatchStates.end() ? BatchPhase::kUnknown : found->second;
}

Result<std::string> parse_registered(const std::string& text) {
  std::string arn = batch_text(parse_object(text), "jobDefinitionArn");
  if (arn.empty()) return odd_aws_answer("aws batch register-job-definition", text);
  return arn;
}

Result<std::string> parse_submitted(const std::string& text) {
  std::string id = batch_text(parse_object(text), "jobId");
  if (id.empty()) return odd_aws_answer("aws batch submit-job", text);
  return id;
}

Result<std::vector<BatchStatus>> parse_jobs(const std::string& text) {
  const json document = parse_object(text);
  const auto jobs = document.find("jobs");
  if (jobs == document.end() || !jobs->is_array())
    return odd_aws_answer("aws batch describe-jobs", text);
  std::vector<BatchStatus> list;
  for (const json& job : *jobs) {
    if (!job.is_object()) return odd_aws_answer("aws batch describe-jobs", job.dump());
    BatchStatus status = status_of(job);
    if (status.id.empty() || status.state.empty())
      return odd_aws_answer("aws batch describe-jobs", job.dump());
    list.push_back(std::move(status));
  }
  return list;
}

Result<LogPage> parse_log_events(const std::string& text) {
  const json document = parse_object(text);
  const auto events = document.find("events");
  if (events == document.end() || !events->is_array())
    return odd_aws_answer("aws logs get-log-events", text);
  LogPage page;
  page.next = batch_text(document, "nextForwardToken");
  for (const json& event : *events) {
    const auto message = event.is_object() ? event.find("message") : event.end();
    if (message == event.end() || !message->is_string())
      return odd_aws_answer("aws logs get-log-events", event.dump());
    page.lines.push_back(message->get<std::string>());
  }
  return page;
}

runs::LauncherResult conclude_batch(const BatchStatus& job, const std::vector<BatchStatus>& nodes) {
  using End = runs::LauncherResult::End;
  runs::LauncherResult result;
  result.detail = "Batch: " + describe(job);
  result.exit_code = job.exit_code;
  if (job.phase() != BatchPhase::kEnded) return result;
  result.end = End::kExited;
  // When node 0 has succeeded Batch ends the others, whatever their code is then.
  if (job.state == "SUCCEEDED") {
    if (!result.exit_code) result.exit_code = 0;
    return result;
  }
  for (const BatchStatus& node : nodes) {
    if (node.id == job.id) continue;  // a plain job is its own node
    if (node.state != "FAILED" && node.exit_code.value_or(0) == 0) continue;
    result.detail += fmt::format("; node {}: {}", node_index(node.id), describe(node));
    if (result.exit_code.value_or(0) == 0) result.exit_code = node.exit_code;
  }
  if (result.exit_code.value_or(0) == 0) result.exit_code = 1;  // nothing is known of a lost node
  if (job.reason.find("duration exceeded timeout") != std::string::npos)
    result.end = End::kTimedOut;
  return result;
}

std::string describe(const BatchStatus& status) {
  std::string text = status.state;
  if (!status.reason.empty()) text += " (" + status.reason + ")";
  if (status.exit_code.value_or(0) != 0) text += fmt::format(", exit code {}", *status.exit_code);
  const bool going_on = status.phase() != BatchPhase::kEnded;
  const int restarts = going_on ? status.attempts : status.attempts - 1;
  if (restarts > 0)
    text +=
        fmt::format(", restarted {}", restarts == 1 ? "once" : fmt::format("{} times", restarts));
  if (status.phase() == BatchPhase::kUnknown) text += ", a state that is not known here";
  return text;
}

}  // namespace muster::launch
