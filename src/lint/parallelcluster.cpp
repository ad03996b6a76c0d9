// ParallelCluster's configuration: how capacity is bought, EFA, systems, scripts.
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/schema.h"
#include "base/words.h"
#include "facts/instances.h"
#include "lint/cluster_configs.h"

namespace muster::lint {
namespace {

class ParallelClusterCheck {
 public:
  ParallelClusterCheck(const Node& config, const facts::Facts& known, Findings& findings)
      : config_(config), known_(known), findings_(findings) {}

  void run() {
    texts(config_, {});
    const Node* os = node_at(config_, "Image.Os");
    if (os != nullptr &&
        (os->text() == "alinux2" || os->text() == "ubuntu2004" || os->text() == "centos7"))
      tell(*os, "parallelcluster-os", fmt::format("nobody mends {} any more", os->text()),
           os->text() == "ubuntu2004" ? "ubuntu2404" : "alinux2023");
    for (const char* key : {"HeadNode.Imds.Secured"}) {
      const Node* secured = node_at(config_, key);
      if (secured != nullptr && secured->as_bool() == false)
        warn(*secured, "parallelcluster-imds",
             "every user of the head node can take its credentials", "Secured: true");
    }
    const Node* queues = node_at(config_, "Scheduling.SlurmQueues");
    if (queues == nullptr) return;
    std::set<std::string> names;
    for (const Node& queue : queues->items()) {
      const std::string name = text_at(queue, "Name");
      if (!name.empty() && !names.insert(name).second)
        tell(*queue.find("Name"), "parallelcluster-name",
             fmt::format("two queues are called {}", name));
      judge(queue);
    }
  }

 private:
  void tell(const Node& node, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(node.where(), rule, std::move(message), std::move(hint)));
  }
  void warn(const Node& node, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(warning_at(node.where(), rule, std::move(message), std::move(hint)));
  }

  // Values that were to be filled in, and scripts that change under their name.
  void texts(const Node& node, std::string_view key) {
    for (const Node& item : node.items()) texts(item, key);
    for (const Node::Entry& entry : node.entries()) texts(entry.value, entry.key);
    if (!node.is_scalar()) return;
    const std::string& text = node.text();
    Regex::Match match;
    const bool sentinel = (key == "CapacityReservationId" && (text == "NA" || text.empty()));
    if (sentinel ||
        finds(pattern("\\$\\{\\w+\\}|PLACEHOLDER|^<[^>]+>$|^(cr|subnet|sg|fs)-x{3,}"), text, match))
      tell(node, "parallelcluster-placeholder",
           fmt::format("\"{}\" is a placeholder that nobody filled in", text),
           sentinel ? "without a reservation leave CapacityReservationTarget out" : "");
    if (key == "Script" && finds(pattern("/(refs/heads/)?(main|master|HEAD|latest)/"), text, match))
      tell(node, "parallelcluster-unpinned",
           fmt::format("{} is another script after each change there", text), "a tag or a commit");
  }

  void judge(const Node& queue) {
    const std::string capacity = text_at(queue, "CapacityType");
    const Node* group = node_at(queue, "Networking.PlacementGroup");
    const bool placed =
        group != nullptr && boolean_at(*group, "Enabled") != false && !group->entries().empty();
    const Node* resources = queue.find("ComputeResources");
    if (resources == nullptr) return;
    for (const Node& resource : resources->items()) {
      const Node* target = resource.find("CapacityReservationTarget");
      if (target == nullptr) target = queue.find("CapacityReservationTarget");
      if (capacity == "CAPACITY_BLOCK") {
        if (target == nullptr)
          tell(resource, "parallelcluster-capacity",
               "the queue buys from capacity blocks, and this names none",
               "CapacityReservationTarget.CapacityReservationId");
        if (integer_at(resource, "MinCount") != integer_at(resource, "MaxCount"))
          tell(resource.find("MinCount") ? *resource.find("MinCount") : resource,
               "parallelcluster-capacity",
               "a capacity block has a fixed size: MinCount and MaxCount are the same");
        if (placed)
          tell(*group, "parallelcluster-placement-group",
               "capacity blocks are placed by EC2: they can't join a placement group",
               "PlacementGroup: {Enabled: false}");
      }
      if (capacity == "SPOT" && target != nullptr)
        tell(*target, "parallelcluster-capacity", "spot capacity comes from no reservation",
             "CapacityType: ONDEMAND");
      efa(resource);
    }
  }

  void efa(const Node& resource) {
    std::vector<std::string> types = {text_at(resource, "InstanceType")};
    if (const Node* several = resource.find("Instances")) {
      for (const Node& one : several->items()) types.push_back(text_at(one, "InstanceType"));
    }
    const Node* enabled = node_at(resource, "Efa.Enabled");
    const bool on = enabled != nullptr && enabled->as_bool() == true;
    for (const std::string& type : types) {
      if (type.empty()) continue;
      const auto instance = facts::find_instance(known_.instances, type);
      if (!instance) continue;
      const auto count = instance->network.efa_count;
      if (on && count == 0)
        tell(*enabled, "parallelcluster-efa", fmt::format("{} has no EFA", instance->name));
      if (!on && count.value_or(0) > 1)
        warn(resource, "parallelcluster-efa",
             fmt::format("{} has {} EFA interfaces, and the queue uses none", instance->name,
                         *count),
             "Efa: {Enabled: true}");
    }
  }

  const Node& config_;
  const facts::Facts& known_;
  Findings& findings_;
};

}  // namespace

void check_parallelcluster(const Node& config, const facts::Facts& known, Findings& findings) {
  ParallelClusterCheck(config, known, findings).run();
}

}  // namespace muster::lint
