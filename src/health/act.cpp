#include "health/act.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/words.h"
#include "health/slurm_nodes.h"

namespace muster::health {
namespace {

constexpr std::chrono::milliseconds kEach{30000};

bool is_slurm(Manager manager) {
  return manager == Manager::kSlurm || manager == Manager::kHyperPodSlurm;
}

bool is_out(const NodeState& state) {
  const auto has = [&](const char* modifier) { return state.modifiers.count(modifier) > 0; };
  return state.base == "drained" || state.base == "draining" || state.base == "fail" ||
         state.base == "failing" || has("drain") || has("fail");
}

Result<std::string> output_of(const std::vector<std::string>& argv, ProcessRunner& processes) {
  Command command;
  command.argv = argv;
  command.env = {{"LC_ALL", "C"}};
  command.time_limit = kEach;
  const auto result = processes.run(command);
  if (!result) return result.error();
  if (result->timed_out) {
    return failure("health-act", fmt::format("{} does not end within {} s", fmt::join(argv, " "),
                                             kEach.count() / 1000));
  }
  if (result->exit_code != 0) {
    return failure("health-act",
                   fmt::format("{} exits with {}: {}", fmt::join(argv, " "), result->exit_code,
                               trimmed(result->err.empty() ? result->out : result->err)));
  }
  return result->out;
}

Result<Standing> ask(Manager manager, const std::string& node, ProcessRunner& processes) {
  if (is_slurm(manager)) {
    const auto text = output_of({"scontrol", "--oneliner", "show", "nodes"}, processes);
    if (!text) return text.error();
    return slurm_standing(*text, node);
  }
  const auto text = output_of({"kubectl", "get", "nodes", "--output", "json"}, processes);
  if (!text) return text.error();
  return kubernetes_standing(*text, node);
}

/// "ActiveFeatures=a,b" of a node's line.
std::vector<std::string> features_of(std::string_view line, std::string_view key) {
  std::vector<std::string> features;
  for (const std::string_view word : words_of(line)) {
    if (!word.starts_with(key)) continue;
    std::string_view rest = word.substr(key.size());
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view one = rest.substr(0, comma);
      if (!one.empty() && one != "(null)") features.emplace_back(one);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return features;
}

constexpr std::string_view kFeature = "HealthCheck:";

std::vector<std::string> with_feature(const std::vector<std::string>& before,
                                      const std::string& feature) {
  std::vector<std::string> after;
  for (const std::string& one : before) {
    if (!one.starts_with(kFeature)) after.push_back(one);
  }
  after.push_back(feature);
  return after;
}

ActionPlan nothing(ActionPlan plan, std::string reason) {
  plan.commands.clear();
  plan.reason = std::move(reason);
  return plan;
}

}  // namespace

int Limit::of(int nodes) const {
  return static_cast<int>(percent ? nodes * value / 100 : value);
}

std::optional<Limit> parse_limit(std::string_view text) {
  Limit limit;
  if (text.ends_with('%')) {
    limit.percent = true;
    text.remove_suffix(1);
  }
  const auto number = limit.percent
                          ? finite(text)
                          : std::optional<double>(whole(text) ? finite(text) : std::nullopt);
  if (!number || *number < 0 || (limit.percent && *number > 100) || *number > 1e6)
    return std::nullopt;
  limit.value = *number;
  return limit;
}

Standing slurm_standing(std::string_view text, const std::string& node) {
  Standing standing;
  for (const NodeRow& row : parse_scontrol_nodes(text)) {
    ++standing.nodes;
    // HyperPod's words are muster's too: its agent takes nothing else.
    const bool marked = row.reason.starts_with(kReasonMark) || row.reason.starts_with("Action:Re");
    const bool out = is_out(row.state);
    if (out && marked) ++standing.out;
    if (row.node != node) continue;
    standing.known = true;
    standing.node_out = out && marked;
    standing.by_others = out && !marked;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("NodeName=" + node + " ")) continue;
    standing.available = features_of(line, "AvailableFeatures=");
    standing.active = features_of(line, "ActiveFeatures=");
  }
  return standing;
}

std::vector<std::string> feature_command(const std::string& node, Health health,
                                         const Standing& standing) {
  const bool well = health == Health::kOk || health == Health::kFlag;
  const std::string feature = std::string(kFeature) + (is_fault(health) ? "Failed"
                                                       : well           ? "Passed"
                                                                        : "Skipped");
  const auto available = with_feature(standing.available, feature);
  const auto active = with_feature(standing.active, feature);
  if (!standing.known || (available == standing.available && active == standing.active)) return {};
  return {"scontrol", "update", "NodeName=" + node,
          fmt::format("AvailableFeatures={}", fmt::join(available, ",")),
          fmt::format("ActiveFeatures={}", fmt::join(active, ","))};
}

Result<Standing> kubernetes_standing(const std::string& text, const std::string& node) {
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("items") || !document["items"].is_array()) {
    return failure("health-act", "kubectl get nodes prints no list of nodes");
  }
  Standing standing;
  for (const auto& item : document["items"]) {
    ++standing.nodes;
    const auto at = [&](const char* pointer) {
      return item.value(nlohmann::json::json_pointer(pointer), nlohmann::json());
    };
    bool marked = false;
    if (const auto taints = at("/spec/taints"); taints.is_array()) {
      for (const auto& taint : taints)
        marked = marked || (taint.is_object() && taint.value("key", "") == kTaint);
    }
    if (marked) ++standing.out;
    if (at("/metadata/name") != node) continue;
    standing.known = true;
    standing.node_out = marked;
    standing.by_others = !marked && at("/spec/unschedulable") == true;
  }
  return standing;
}

ActionPlan decide(Manager manager, const std::string& node, Health health, ActionPlan plan,
                  const Standing& standing, const Limit& limit) {
  if (!standing.known)
    return nothing(std::move(plan), fmt::format("the scheduler does not know the node {}", node));
  if (is_fault(health)) {
    if (standing.by_others)
      return nothing(std::move(plan), "somebody else took the node out of service already");
    if (standing.node_out)
      return nothing(std::move(plan), "the node was taken out of service already");
    const int most = limit.of(standing.nodes);
    if (standing.out + 1 > most) {
      return nothing(std::move(plan),
                     fmt::format("held back: {} of {} nodes are out of service already, at most "
                                 "{} may be",
                                 standing.out, standing.nodes, most));
    }
    return plan;
  }
  const bool well = health == Health::kOk || health == Health::kFlag;
  if (well && standing.node_out) return plan_return(manager, node);
  return nothing(std::move(plan),
                 well ? "nothing to be done" : "nothing is done on what could not be verified");
}

Result<ActionPlan> act(Manager manager, const std::string& node, Health health,
                       const ActionPlan& plan, const Limit& limit, bool features,
                       ProcessRunner& processes) {
  const auto standing = ask(manager, node, processes);
  if (!standing) return standing.error();
  ActionPlan decided = decide(manager, node, health, plan, *standing, limit);
  if (features && is_slurm(manager)) {
    // Before the node comes back: jobs that ask for the feature go by it.
    if (auto command = feature_command(node, health, *standing); !command.empty())
      decided.commands.insert(decided.commands.begin(), std::move(command));
  }
  for (const auto& argv : decided.commands) {
    if (const auto done = output_of(argv, processes); !done) return done.error();
  }
  return decided;
}

}  // namespace muster::health
