#include "health/action.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::health {
namespace {

constexpr const char* kHyperPodStatus = "sagemaker.amazonaws.com/node-health-status";

std::string action_of(Health health) {
  switch (health) {
    case Health::kFlag:
      return "watch";
    case Health::kReset:
    case Health::kInvestigate:
      return "drain";
    case Health::kReboot:
      return "reboot";
    case Health::kReplace:
      return "replace";
    default:
      return "none";
  }
}

/// A condition beside the kubelet's own; the status is a resource of its own.
std::vector<std::string> condition_command(const std::string& node, bool healthy,
                                           const std::string& reason, const std::string& message) {
  const nlohmann::ordered_json patch = {
      {"status",
       {{"conditions", nlohmann::ordered_json::array({{{"type", kCondition},
                                                       {"status", healthy ? "True" : "False"},
                                                       {"reason", reason},
                                                       {"message", message}}})}}}};
  return {"kubectl",
          "patch",
          "node",
          node,
          "--subresource=status",
          "--type=strategic",
          "--patch=" + patch.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

}  // namespace

const std::vector<std::string>& manager_names() {
  static const std::vector<std::string> kNames = {"slurm", "kubernetes", "hyperpod-slurm",
                                                  "hyperpod-eks"};
  return kNames;
}

std::optional<Manager> parse_manager(std::string_view name) {
  const auto& names = manager_names();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Manager>(at - names.begin());
}

std::string reason_of(const std::vector<CheckResult>& checks) {
  const auto worst = std::max_element(
      checks.begin(), checks.end(),
      [](const CheckResult& a, const CheckResult& b) { return a.health() < b.health(); });
  if (worst == checks.end()) return "nothing was checked";
  // Slurm keeps a reason of some hundred characters, and the contract's fields end at colons.
  constexpr std::size_t kMost = 200;
  std::string text;
  const auto& seen = worst->observations();
  const auto told = std::find_if(seen.begin(), seen.end(), [&](const Observation& one) {
    return one.health == worst->health();
  });
  if (told != seen.end()) {
    text = told->subject.empty() ? told->evidence : told->subject + " " + told->evidence;
  } else {
    text = worst->evidence();
  }
  for (char& c : text) {
    if (c == ':') c = ' ';
    if (c == '"' || c == '\'' || c == '\\' || c == '`' || c == '$' ||
        static_cast<unsigned char>(c) < 0x20)
      c = ' ';
  }
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      text.end());
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return worst->name() + " " + text;
}

ActionPlan plan_action(Manager manager, const std::string& node,
                       const std::vector<CheckResult>& checks) {
  const Health health = worst_of(checks);
  ActionPlan plan;
  plan.action = action_of(health);
  plan.reason = kReasonMark + reason_of(checks);
  if (!is_fault(health)) return plan;
  const bool reboot = health == Health::kReboot, replace = health == Health::kReplace;
  const std::string name = "NodeName=" + node;
  switch (manager) {
    case Manager::kSlurm:
      plan.commands.push_back({"scontrol", "update", name, "State=DRAIN", "Reason=" + plan.reason});
      if (reboot) {
        plan.commands.push_back(
            {"scontrol", "reboot", "nextstate=DOWN", "reason=" + plan.reason, node});
      }
      break;
    case Manager::kHyperPodSlurm:
      // HyperPod's agent acts on these very words.
      if (reboot || replace) {
        plan.commands.push_back({"scontrol", "update", name, "State=FAIL",
                                 replace ? "Reason=Action:Replace" : "Reason=Action:Reboot"});
      } else {
        plan.commands.push_back(
            {"scontrol", "update", name, "State=DRAIN", "Reason=" + plan.reason});
      }
      break;
    case Manager::kKubernetes:
    case Manager::kHyperPodEks:
      plan.commands.push_back({"kubectl", "cordon", node});
      plan.commands.push_back({"kubectl", "taint", "nodes", node, "--overwrite",
                               fmt::format("{}={}:NoSchedule", kTaint, plan.action)});
      plan.commands.push_back(
          {"kubectl", "annotate", "node", node, "--overwrite", "muster.dev/reason=" + plan.reason});
      plan.commands.push_back({"kubectl", "label", "node", node, "--overwrite",
                               fmt::format("{}={}", kHealthLabel, to_string(health))});
      plan.commands.push_back(condition_command(node, false, "HealthCheckFailed", plan.reason));
      if (manager == Manager::kHyperPodEks && (reboot || replace)) {
        plan.commands.push_back({"kubectl", "label", "node", node, "--overwrite",
                                 fmt::format("{}={}", kHyperPodStatus,
                                             replace ? "UnschedulablePendingReplacement"
                                                     : "UnschedulablePendingReboot")});
      }
      break;
  }
  return plan;
}

ActionPlan plan_return(Manager manager, const std::string& node) {
  ActionPlan plan;
  plan.action = "return";
  plan.reason = "well again";
  if (manager == Manager::kSlurm || manager == Manager::kHyperPodSlurm) {
    plan.commands.push_back({"scontrol", "update", "NodeName=" + node, "State=RESUME"});
  } else {
    plan.commands.push_back({"kubectl", "taint", "nodes", node, std::string(kTaint) + "-"});
    plan.commands.push_back({"kubectl", "annotate", "node", node, "muster.dev/reason-"});
    plan.commands.push_back(
        {"kubectl", "label", "node", node, "--overwrite", std::string(kHealthLabel) + "=ok"});
    plan.commands.push_back(condition_command(node, true, "HealthCheckPassed", plan.reason));
    plan.commands.push_back({"kubectl", "uncordon", node});
  }
  return plan;
}

std::string contract_line(const std::string& node, const std::vector<CheckResult>& checks) {
  const Health health = worst_of(checks);
  const char* outcome = is_fault(health)                                   ? "Failed"
                        : health == Health::kOk || health == Health::kFlag ? "Passed"
                                                                           : "Skipped";
  // A reset is not among its actions; a reboot resets the device.
  const char* action = health == Health::kReplace                              ? "replace"
                       : health == Health::kReset || health == Health::kReboot ? "reboot"
                                                                               : "none";
  return fmt::format("HEALTH_CHECK_RESULT:{}:{}:{}:{}", node, outcome, action, reason_of(checks));
}

std::string shell_line(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    const bool plain =
        !word.empty() && word.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,"
                             "@%+") == std::string::npos;
    std::string quoted = word;
    if (!plain) {
      quoted = "'";
      for (const char c : word) {
        if (c == '\'')
          quoted += "'\\''";
        else
          quoted += c;
      }
      quoted += "'";
    }
    line += (line.empty() ? "" : " ") + quoted;
  }
  return line;
}

}  // namespace muster::health
