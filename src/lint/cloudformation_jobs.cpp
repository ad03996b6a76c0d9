// AWS Batch: jobs of several nodes that really span them, and compute environments that fit.
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/words.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

// All text below a node, in order.
std::string joined(const Node& node) {
  std::string all = node.is_scalar() ? node.text() : std::string();
  for (const Node& item : node.items()) all += (all.empty() ? "" : " ") + joined(item);
  for (const Node::Entry& entry : node.entries())
    all += (all.empty() ? "" : " ") + joined(entry.value);
  return all;
}

class JobCheck {
 public:
  explicit JobCheck(CfnCheck& check) : check_(check), tree_(check.tree) {}

  void definition(const Node::Entry& entry) {
    const Node& properties = CfnTemplate::properties(entry.value);
    const Node* type = properties.find("Type");
    const Node* nodes = properties.find("NodeProperties");
    const bool multinode = type != nullptr && type->text() == "multinode";
    if (type != nullptr && type->is_scalar() && type->tag().empty() &&
        multinode != (nodes != nullptr))
      check_.wrong(type->where(), "cfn-multinode",
                   multinode ? "a multinode job needs NodeProperties"
                             : "NodeProperties are of jobs of the type multinode");
    if (nodes == nullptr) return;
    const Node* count = nodes->find("NumNodes");
    const Node* ranges = nodes->find("NodeRangeProperties");
    if (ranges == nullptr) return;
    for (const Node& range : ranges->items()) {
      const Node* container = range.find("Container");
      if (container == nullptr) continue;
      if (const Node* command = container->find("Command")) launcher(*command);
      if (const Node* environment = container->find("Environment")) processes(*environment, count);
      devices(*container, entry.key);
    }
  }

  void environment(const Node::Entry& entry) {
    const Node& properties = CfnTemplate::properties(entry.value);
    for (const Node* resources : tree_.at(properties, "ComputeResources")) {
      const Node* strategy = resources->find("AllocationStrategy");
      const Node* kind = resources->find("Type");
      const bool ec2 = kind == nullptr || kind->text() == "EC2";
      if (ec2 && (strategy == nullptr || strategy->text() == "BEST_FIT"))
        check_.warn(strategy != nullptr ? strategy->where() : resources->where(),
                    "cfn-batch-environment",
                    "BEST_FIT waits for one type of one size, and can't be updated in place",
                    "AllocationStrategy: BEST_FIT_PROGRESSIVE");
      const Node* most = resources->find("MaxvCpus");
      if (most == nullptr) continue;
      for (const std::string& text : tree_.texts(*most)) {
        const auto cpus = whole(text);
        if (cpus && *cpus >= 100000)
          check_.warn(most->where(), "cfn-batch-environment",
                      fmt::format("MaxvCpus {} bounds nothing that an account can buy", text));
      }
    }
  }

 private:
  // mpirun without hosts starts all ranks on the node that runs it.
  void launcher(const Node& command) {
    const std::string text = joined(command);
    Regex::Match match;
    if (!finds(pattern("\\b(mpirun|mpiexec)\\b"), text, match)) return;
    if (finds(pattern("(--?hostfile|--?machinefile|--?host\\b|\\s-H\\s|-f\\s+\\S*host|--map-by)"),
              text, match))
      return;
    check_.wrong(command.where(), "cfn-multinode",
                 "mpirun without a list of hosts: every rank starts on the first node, and the "
                 "others idle",
                 "--hostfile with the nodes that Batch names");
  }

  // How many processes there are follows from how many nodes.
  void processes(const Node& environment, const Node* count) {
    for (const Node& variable : environment.items()) {
      const Node* name = variable.find("Name");
      const Node* value = variable.find("Value");
      if (name == nullptr || value == nullptr || !value->is_scalar() || cfn_call(*value)) continue;
      Regex::Match match;
      if (!finds(pattern("(TOTAL_PROCS|WORLD_SIZE|NUM_NODES|NNODES)$"), name->text(), match))
        continue;
      const bool fixed = count != nullptr && !cfn_call(*count) && name->text().ends_with("NODES") &&
                         count->text() == value->text();
      if (fixed) continue;
      check_.wrong(
          value->where(), "cfn-multinode",
          fmt::format("{} is {} however many nodes the job has", name->text(), value->text()),
          "worked out from AWS_BATCH_JOB_NUM_NODES when the job starts");
    }
  }

  // A container sees an EFA device only when it is given to it.
  void devices(const Node& container, const std::string& job) {
    const Node* type = container.find("InstanceType");
    std::vector<std::string> types;
    if (type != nullptr) types = tree_.texts(*type);
    if (types.empty()) types = types_of_environments();
    if (types.size() != 1) return;
    const auto instance = facts::find_instance(check_.known.instances, types[0]);
    if (!instance || !instance->network.efa_count || *instance->network.efa_count == 0) return;
    const Node* parameters = container.find("LinuxParameters");
    const Node* devices = parameters != nullptr ? parameters->find("Devices") : nullptr;
    std::set<std::string> seen;
    if (devices != nullptr) {
      for (const Node& device : devices->items()) {
        const Node* path = device.find("HostPath");
        if (path == nullptr) continue;
        if (path->text() == "/dev/infiniband" || path->text() == "/dev/infiniband/") return;
        if (path->text().find("uverbs") != std::string::npos) seen.insert(path->text());
      }
    }
    const Node* privileged = container.find("Privileged");
    if (privileged != nullptr && privileged->text() == "true") return;
    const auto right = static_cast<std::size_t>(*instance->network.efa_count);
    if (seen.size() == right) return;
    check_.wrong(devices != nullptr ? devices->where() : container.where(), "cfn-devices",
                 fmt::format("{} gives its container {} of the {} EFA devices of {}", job,
                             seen.size(), right, instance->name),
                 fmt::format("/dev/infiniband/uverbs0 to uverbs{}", right - 1));
  }

  // Of all compute environments here, when they agree.
  std::vector<std::string> types_of_environments() const {
    std::set<std::string> types;
    for (const Node::Entry* entry : tree_.resources_of("AWS::Batch::ComputeEnvironment")) {
      const Node& properties = CfnTemplate::properties(entry->value);
      for (const Node* resources : tree_.at(properties, "ComputeResources")) {
        for (const Node* list : tree_.at(*resources, "InstanceTypes")) {
          for (const Node& item : list->items()) {
            for (const std::string& text : tree_.texts(item)) types.insert(text);
          }
        }
      }
    }
    return {types.begin(), types.end()};
  }

  CfnCheck& check_;
  const CfnTemplate& tree_;
};

}  // namespace

void check_cfn_jobs(CfnCheck& check) {
  JobCheck rules(check);
  for (const Node::Entry* entry : check.tree.resources_of("AWS::Batch::JobDefinition"))
    rules.definition(*entry);
  for (const Node::Entry* entry : check.tree.resources_of("AWS::Batch::ComputeEnvironment"))
    rules.environment(*entry);
}

}  // namespace muster::lint
