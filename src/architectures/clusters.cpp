#include "architectures/clusters.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/aws.h"

namespace muster::architectures {
namespace {

using nlohmann::json;

const json& list_in(const json& object, const char* key) {
  static const json kNone = json::array();
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

std::string text_in(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int>() : 0;
}

/// The answer when it is an object that holds `key`.
Result<json> answer_with(const char* key, const char* command, const std::string& text) {
  json document = json::parse(text, nullptr, false);
  if (document.is_object() && document.contains(key)) return document;
  return odd_aws_answer(command, text);
}

std::string tag_of(const json& stack) {
  for (const json& tag : list_in(stack, "Tags")) {
    if (text_in(tag, "Key") == kClusterTag) return text_in(tag, "Value");
  }
  return {};
}

std::string in_words(const std::vector<InstanceGroup>& groups) {
  std::string text;
  for (const InstanceGroup& group : groups) {
    const std::string count = group.current == group.target
                                  ? fmt::format("{}", group.current)
                                  : fmt::format("{} of {}", group.current, group.target);
    text += fmt::format("{}{}: {} {}", text.empty() ? "" : ", ", group.name, count, group.type);
  }
  return text;
}

}  // namespace

Result<std::vector<std::string>> parse_cluster_names(const std::string& text) {
  const auto answer = answer_with("ClusterSummaries", "aws sagemaker list-clusters", text);
  if (!answer) return answer.error();
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const json& summary : list_in(*answer, "ClusterSummaries")) {
    const std::string name = text_in(summary, "ClusterName");
    if (name.empty()) return odd_aws_answer("aws sagemaker list-clusters", text);
    if (seen.insert(name).second) names.push_back(name);
  }
  return names;
}

Result<Cluster> parse_cluster(const std::string& text) {
  const auto answer = answer_with("ClusterName", "aws sagemaker describe-cluster", text);
  if (!answer) return answer.error();
  Cluster cluster;
  cluster.name = text_in(*answer, "ClusterName");
  cluster.status = text_in(*answer, "ClusterStatus");
  const auto orchestrator = answer->find("Orchestrator");
  const bool eks =
      orchestrator != answer->end() && orchestrator->is_object() && orchestrator->contains("Eks");
  cluster.kind = eks ? "hyperpod-eks" : "hyperpod-slurm";
  for (const char* key : {"InstanceGroups", "RestrictedInstanceGroups"}) {
    for (const json& group : list_in(*answer, key)) {
      if (!group.is_object()) continue;
      cluster.groups.push_back({text_in(group, "InstanceGroupName"), text_in(group, "InstanceType"),
                                number_in(group, "CurrentCount"), number_in(group, "TargetCount")});
    }
  }
  return cluster;
}

Result<std::vector<Cluster>> parse_stacks(const std::string& text) {
  const auto answer = answer_with("Stacks", "aws cloudformation describe-stacks", text);
  if (!answer) return answer.error();
  std::map<std::string, Cluster> by_name;
  for (const json& stack : list_in(*answer, "Stacks")) {
    const std::string name = tag_of(stack);
    if (name.empty()) continue;
    Cluster& cluster = by_name[name];
    const std::string status = text_in(stack, "StackStatus");
    const bool said = std::any_of(cluster.stacks.begin(), cluster.stacks.end(),
                                  [&](const Stack& other) { return other.status == status; });
    if (!said) cluster.status += (cluster.status.empty() ? "" : ", ") + status;
    cluster.name = name;
    cluster.kind = "stacks";
    cluster.stacks.push_back({text_in(stack, "StackName"), status});
  }
  std::vector<Cluster> clusters;
  clusters.reserve(by_name.size());
  for (auto& [name, cluster] : by_name) clusters.push_back(std::move(cluster));
  return clusters;
}

Result<std::vector<Cluster>> find_clusters(ProcessRunner& processes) {
  const auto list = ask_aws(processes, {"aws", "sagemaker", "list-clusters"});
  if (!list) return list.error();
  const auto names = parse_cluster_names(*list);
  if (!names) return names.error();
  std::vector<Cluster> clusters;
  for (const std::string& name : *names) {
    const auto text =
        ask_aws(processes, {"aws", "sagemaker", "describe-cluster", "--cluster-name", name});
    if (!text) return text.error();
    auto cluster = parse_cluster(*text);
    if (!cluster) return cluster.error();
    clusters.push_back(std::move(*cluster));
  }
  const auto text = ask_aws(processes, {"aws", "cloudformation", "describe-stacks"});
  if (!text) return text.error();
  auto made = parse_stacks(*text);
  if (!made) return made.error();
  for (Cluster& cluster : *made) {
    const auto same = std::find_if(clusters.begin(), clusters.end(),
                                   [&](const Cluster& one) { return one.name == cluster.name; });
    if (same != clusters.end()) {
      same->stacks = std::move(cluster.stacks);
    } else {
      clusters.push_back(std::move(cluster));
    }
  }
  std::sort(clusters.begin(), clusters.end(),
            [](const Cluster& a, const Cluster& b) { return a.name < b.name; });
  return clusters;
}

nlohmann::ordered_json to_json(const Cluster& cluster) {
  nlohmann::ordered_json item = {{"name", cluster.name}, {"kind", cluster.kind}};
  item["status"] = cluster.status;
  item["instances"] = in_words(cluster.groups);
  item["groups"] = nlohmann::ordered_json::array();
  for (const InstanceGroup& group : cluster.groups)
    item["groups"].push_back({{"name", group.name},
                              {"type", group.type},
                              {"current", group.current},
                              {"target", group.target}});
  item["stacks"] = nlohmann::ordered_json::array();
  for (const Stack& stack : cluster.stacks)
    item["stacks"].push_back({{"name", stack.name}, {"status", stack.status}});
  return item;
}

}  // namespace muster::architectures
