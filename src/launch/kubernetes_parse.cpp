#include "launch/kubernetes_parse.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::launch {
namespace {

using nlohmann::json;

/// What a condition that holds means, over all the kinds: operators use the same words for the same
/// things. Of several that hold the first here counts.
struct Meaning {
  std::string_view type;
  KubePhase phase;
};
constexpr std::array<Meaning, 17> kConditions = {{
    {"Failed", KubePhase::kFailed},          // Job, JobSet, Kubeflow's, TrainJob, HyperPod's
    {"Complete", KubePhase::kSucceeded},     // Job, TrainJob
    {"Completed", KubePhase::kSucceeded},    // JobSet, HyperPod's
    {"Succeeded", KubePhase::kSucceeded},    // Kubeflow's
    {"FailureTarget", KubePhase::kRunning},  // Job, whose pods are being ended
    {"SuccessCriteriaMet", KubePhase::kRunning},
    {"Suspended", KubePhase::kSuspended},
    {"Restarting", KubePhase::kWaiting},
    {"Running", KubePhase::kRunning},
    {"PodsRunning", KubePhase::kRunning},  // HyperPod's
    {"Available", KubePhase::kRunning},    // Deployment, LeaderWorkerSet
    {"Ready", KubePhase::kRunning},        // RayService
    {"Progressing", KubePhase::kWaiting},
    {"UpdateInProgress", KubePhase::kWaiting},
    {"Created", KubePhase::kWaiting},
    {"Initialized", KubePhase::kWaiting},
    {"StartupPolicyInProgress", KubePhase::kWaiting},
}};

/// Values of status.jobStatus, status.jobDeploymentStatus and status.state of Ray's objects.
constexpr std::array<Meaning, 15> kRayStates = {{
    {"SUCCEEDED", KubePhase::kSucceeded},
    {"FAILED", KubePhase::kFailed},
    {"STOPPED", KubePhase::kFailed},
    {"Failed", KubePhase::kFailed},
    {"failed", KubePhase::kFailed},
    {"ValidationFailed", KubePhase::kFailed},
    {"Suspended", KubePhase::kSuspended},
    {"suspended", KubePhase::kSuspended},
    {"RUNNING", KubePhase::kRunning},
    {"ready", KubePhase::kRunning},
    {"PENDING", KubePhase::kWaiting},
    {"Initializing", KubePhase::kWaiting},
    {"Waiting", KubePhase::kWaiting},
    {"Retrying", KubePhase::kWaiting},
    {"Suspending", KubePhase::kWaiting},
}};

/// Reasons of a waiting container that no waiting mends.
constexpr std::array<std::string_view, 2> kHopeless = {"InvalidImageName", "ErrImageNeverPull"};
/// Reasons that only say that a container is on its way.
constexpr std::array<std::string_view, 2> kOnItsWay = {"ContainerCreating", "PodInitializing"};

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const json& member_of(const json& node, const char* key) {
  static const json kNone;
  if (!node.is_object()) return kNone;
  const auto found = node.find(key);
  return found == node.end() ? kNone : *found;
}

std::string text_in(const json& node, const char* key) {
  const json& value = member_of(node, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

int number_in(const json& node, const char* key) {
  const json& value = member_of(node, key);
  return value.is_number_integer() ? value.get<int>() : 0;
}

/// A message as one line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

bool holds(const json& condition) {
  return text_in(condition, "status") == "True";
}

KubeObject state_of(const json& condition, KubePhase phase) {
  return {text_in(condition, "type"), text_in(condition, "reason"),
          one_line(text_in(condition, "message")), phase};
}

/// Of a Deployment that can't go on; its other conditions still hold.
bool is_stuck(const json& condition) {
  return text_in(condition, "type") == "Progressing" && text_in(condition, "status") == "False" &&
         text_in(condition, "reason") == "ProgressDeadlineExceeded";
}

std::optional<KubeObject> by_conditions(const json& status) {
  const json& conditions = member_of(status, "conditions");
  if (!conditions.is_array()) return std::nullopt;
  for (const json& condition : conditions) {
    if (is_stuck(condition)) return state_of(condition, KubePhase::kFailed);
  }
  for (const Meaning& meaning : kConditions) {
    for (const json& condition : conditions) {
      if (holds(condition) && text_in(condition, "type") == meaning.type)
        return state_of(condition, meaning.phase);
    }
  }
  // The last one that holds, known or not, is what its operator said last.
  for (auto condition = conditions.rbegin(); condition != conditions.rend(); ++condition) {
    if (holds(*condition)) return state_of(*condition, KubePhase::kUnknown);
  }
  return std::nullopt;
}

KubeObject by_ray_state(const json& status) {
  for (const char* key : {"jobStatus", "jobDeploymentStatus", "state"}) {
    const std::string state = text_in(status, key);
    if (state.empty()) continue;
    KubeObject object{state, text_in(status, "reason"), one_line(text_in(status, "message")),
                      KubePhase::kUnknown};
    for (const Meaning& meaning : kRayStates) {
      if (state == meaning.type) object.phase = meaning.phase;
    }
    // A job that Ray never heard of can't tell how it ended: its deployment does.
    if (object.phase == KubePhase::kWaiting && key == std::string_view("jobStatus") &&
        text_in(status, "jobDeploymentStatus") == "Failed") {
      object.state = "Failed";
      object.phase = KubePhase::kFailed;
    }
    return object;
  }
  return {};
}

void take_container(const json& status, KubePod& pod, bool init) {
  pod.restarts += number_in(status, "restartCount");
  const json& state = member_of(status, "state");
  const json& waiting = member_of(state, "waiting");
  const json& ended = member_of(state, "terminated");
  const auto say = [&](const json& why) {
    // The first container that can't go on is the one to look at.
    if (!pod.reason.empty()) return;
    pod.container = text_in(status, "name");
    pod.reason = text_in(why, "reason");
    pod.message = one_line(text_in(why, "message"));
  };
  if (waiting.is_object()) {
    pod.up = false;
    const std::string reason = text_in(waiting, "reason");
    if (!is_in(kOnItsWay, reason)) say(waiting);
    if (is_in(kHopeless, reason)) pod.hopeless = true;
    const json& before = member_of(member_of(status, "lastState"), "terminated");
    if (reason == "CrashLoopBackOff" && before.is_object())
      pod.exit_code = number_in(before, "exitCode");
  } else if (ended.is_object() && number_in(ended, "exitCode") != 0) {
    say(ended);
    if (!pod.exit_code) pod.exit_code = number_in(ended, "exitCode");
  } else if (init && !ended.is_object()) {
    pod.up = false;  // its containers come after this one
  }
}

KubePod pod_of(const json& item) {
  const json& status = member_of(item, "status");
  KubePod pod;
  pod.name = text_in(member_of(item, "metadata"), "name");
  pod.node = text_in(member_of(item, "spec"), "nodeName");
  pod.phase = text_in(status, "phase");
  pod.up = pod.phase == "Running" || pod.phase == "Succeeded" || pod.phase == "Failed";
  const bool ended = pod.phase == "Succeeded" || pod.phase == "Failed";
  // What the pod itself says: evicted, its node lost.
  pod.reason = text_in(status, "reason");
  pod.message = one_line(text_in(status, "message"));
  for (const char* key : {"initContainerStatuses", "containerStatuses"}) {
    const json& containers = member_of(status, key);
    if (!containers.is_array()) continue;
    for (const json& container : containers)
      take_container(container, pod, key == std::string_view("initContainerStatuses"));
  }
  if (ended) pod.up = true;
  if (pod.phase != "Pending" || !pod.reason.empty()) return pod;
  const json& conditions = member_of(status, "conditions");
  if (!conditions.is_array()) return pod;
  for (const json& condition : conditions) {
    if (text_in(condition, "type") == "PodScheduled" && !holds(condition)) {
      pod.reason = text_in(condition, "reason");
      pod.message = one_line(text_in(condition, "message"));
    }
  }
  return pod;
}

// Of a Job its pods; of a JobSet and of a TrainJob their Jobs.
bool has_active_jobs(const json& status) {
  if (number_in(status, "active") > 0) return true;
  for (const char* key : {"replicatedJobsStatus", "jobsStatus"}) {
    const json& jobs = member_of(status, key);
    if (!jobs.is_array()) continue;
    for (const json& job : jobs) {
      if (number_in(job, "active") > 0) return true;
    }
  }
  return false;
}

std::size_t count_up(const std::vector<KubePod>& pods) {
  return static_cast<std::size_t>(
      std::count_if(pods.begin(), pods.end(), [](const KubePod& pod) { return pod.up; }));
}

}  // namespace

Result<KubeObject> parse_kube_object(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (text_in(object, "kind").empty()) {
    return failure("kubernetes-output", "kubectl printed something that is no object's JSON",
                   "report it with the output of kubectl version");
  }
  const json& status = member_of(object, "status");
  if (text_in(object, "apiVersion").starts_with("ray.io/") &&
      text_in(object, "kind") != "RayService")
    return by_ray_state(status);
  if (auto known = by_conditions(status)) return *known;
  // A Job has no condition while it runs, nor has what is made of Jobs.
  if (has_active_jobs(status)) return KubeObject{"active", {}, {}, KubePhase::kRunning};
  return KubeObject{};
}

Result<std::vector<KubePod>> parse_kube_pods(std::string_view text) {
  const json list = json::parse(text, nullptr, false);
  const json& items = member_of(list, "items");
  if (!items.is_array()) {
    return failure("kubernetes-output", "kubectl printed something that is no list of pods",
                   "report it with the output of kubectl version");
  }
  std::vector<KubePod> pods;
  for (const json& item : items) pods.push_back(pod_of(item));
  std::sort(pods.begin(), pods.end(),
            [](const KubePod& a, const KubePod& b) { return a.name < b.name; });
  return pods;
}

std::vector<std::string> parse_kube_warnings(std::string_view text) {
  const json list = json::parse(text, nullptr, false);
  std::vector<std::string> order;
  std::map<std::string, std::string> last;
  const json& items = member_of(list, "items");
  if (!items.is_array()) return {};
  for (const json& event : items) {
    if (text_in(event, "type") != "Warning") continue;
    const std::string reason = text_in(event, "reason");
    if (!last.contains(reason)) order.push_back(reason);
    last[reason] = one_line(text_in(event, "message"));
  }
  std::vector<std::string> warnings;
  warnings.reserve(order.size());
  for (const std::string& reason : order)
    warnings.push_back(fmt::format("{}: {}", reason, last[reason]));
  return warnings;
}

bool says_not_found(std::string_view standard_error) {
  return standard_error.find("(NotFound)") != std::string_view::npos;
}

std::string kube_error(std::string_view text) {
  // Warnings come before the error.
  const auto error = text.find("rror from server");
  if (error != std::string_view::npos) text.remove_prefix(error - 1);
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start);
  text = text.substr(0, text.find('\n'));
  if (text.starts_with("Error from server (")) {
    if (const auto after = text.find("): "); after != std::string_view::npos)
      text.remove_prefix(after + 3);
  }
  return one_line(std::string(text));
}

runs::LauncherResult conclude(const KubeJob& job, const KubeObject& status,
                              const std::vector<KubePod>& pods) {
  using End = runs::LauncherResult::End;
  runs::LauncherResult result;
  result.detail = describe(job, status, pods);
  if (status.phase == KubePhase::kSucceeded) {
    result.end = End::kExited;
    result.exit_code = 0;
  } else if (status.phase != KubePhase::kFailed) {
    result.end = End::kUnknown;
  } else if (status.reason.find("DeadlineExceeded") != std::string::npos ||
             status.message.find("longer than specified deadline") != std::string::npos) {
    result.end = End::kTimedOut;
  } else {
    result.end = End::kExited;
    result.exit_code = 1;
    for (const KubePod& pod : pods) {
      if (pod.exit_code.value_or(0) == 0) continue;
      result.exit_code = *pod.exit_code;
      break;
    }
  }
  return result;
}

std::string describe(const KubePod& pod) {
  std::string text = "pod " + pod.name;
  if (!pod.node.empty()) text += " on " + pod.node;
  text += ": " + (pod.reason.empty() ? pod.phase : pod.reason);
  if (pod.exit_code.value_or(0) != 0) text += fmt::format(", exit code {}", *pod.exit_code);
  if (!pod.message.empty()) text += fmt::format(" ({})", pod.message);
  if (pod.restarts == 1) text += ", restarted once";
  if (pod.restarts > 1) text += fmt::format(", restarted {} times", pod.restarts);
  return text;
}

std::string describe(const KubeJob& job, const KubeObject& status,
                     const std::vector<KubePod>& pods) {
  std::string text = fmt::format("{} {}: {}", job.kind, job.name,
                                 status.state.empty() ? "no status yet" : status.state);
  if (!status.reason.empty() && status.reason != status.state)
    text += fmt::format(" ({})", status.reason);
  if (status.phase == KubePhase::kUnknown) text += ", a state that is not known here";
  if (status.phase == KubePhase::kFailed && !status.message.empty()) text += ": " + status.message;
  if (pods.empty()) return text + "; no pods";
  const std::size_t up = count_up(pods);
  text += fmt::format("; {} of {} pods up", up,
                      std::max(pods.size(), static_cast<std::size_t>(std::max(0, job.pods))));
  constexpr std::size_t kMost = 3;
  std::size_t told = 0;
  std::size_t wrong = 0;
  for (const KubePod& pod : pods) {
    if (pod.up && pod.exit_code.value_or(0) == 0 && pod.reason.empty()) continue;
    if (pod.up && pod.phase == "Succeeded") continue;
    if (pod.phase == "Pending" && pod.reason.empty()) continue;  // on its way
    ++wrong;
    if (told < kMost) {
      text += "; " + describe(pod);
      ++told;
    }
  }
  if (wrong > told) text += fmt::format("; and {} more", wrong - told);
  return text;
}

}  // namespace muster::launch
