// A create-cluster request of SageMaker HyperPod and what lies beside it in its folder: the
// provisioning parameters, the lifecycle scripts, and what the AWS CLI answered about subnets,
// security groups, file systems and training plans (any *.json with such an answer).
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/schema.h"
#include "base/words.h"
#include "facts/instances.h"
#include "lint/cluster_configs.h"

namespace muster::lint {
namespace {

// What was found beside the request, by the key at its top.
struct Beside {
  std::optional<Node> provisioning, subnets, groups, file_systems, plans, reservations;
};

constexpr std::uint64_t kMostBytes = 4U << 20U;

Beside read_beside(const Source& source) {
  Beside beside;
  if (source.files == nullptr) return beside;
  const auto folder = source.path.parent_path();
  const auto names = source.files->list(folder.empty() ? "." : folder);
  if (!names) return beside;
  for (const std::string& name : *names) {
    const auto path = folder / name;
    const auto info = source.files->info(path);
    if (path.extension() != ".json" || path == source.path || !info ||
        info->kind != FileInfo::Kind::kFile || info->size > kMostBytes)
      continue;
    const auto text = source.files->read(path);
    if (!text) continue;
    auto document = parse_json(*text, path.string());
    if (!document || !document->is_mapping()) continue;  // told where that file is checked
    const auto holds = [&](const char* key) {
      const Node* found = document->find(key);
      return found != nullptr && found->is_sequence();
    };
    if (document->find("workload_manager") != nullptr) {
      beside.provisioning = std::move(*document);
    } else if (document->find("InstanceGroups") != nullptr) {
      continue;
    } else if (holds("Subnets")) {
      beside.subnets = std::move(*document);
    } else if (holds("SecurityGroups")) {
      beside.groups = std::move(*document);
    } else if (holds("FileSystems")) {
      beside.file_systems = std::move(*document);
    } else if (holds("TrainingPlanSummaries")) {
      beside.plans = std::move(*document);
    } else if (holds("CapacityReservations")) {
      beside.reservations = std::move(*document);
    }
  }
  return beside;
}

const Node* find_row(const std::optional<Node>& answer, const char* list, const char* key,
                     const std::string& value) {
  if (!answer) return nullptr;
  for (const Node& row : answer->find(list)->items()) {
    if (text_at(row, key) == value) return &row;
  }
  return nullptr;
}

class HyperpodRequest {
 public:
  HyperpodRequest(const Node& request, const Source& source, const facts::Facts& known,
                  Findings& findings)
      : request_(request),
        source_(source),
        known_(known),
        findings_(findings),
        beside_(read_beside(source)) {}

  void run() {
    for (const char* key : {"InstanceGroups", "RestrictedInstanceGroups"}) {
      const Node* list = request_.find(key);
      if (list == nullptr) continue;
      for (const Node& group : list->items()) {
        groups_.push_back(&group);
        judge_group(group, std::string_view(key) == "RestrictedInstanceGroups");
      }
    }
    orchestration();
    if (beside_.provisioning) against_provisioning(*beside_.provisioning);
    network();
    storage();
  }

 private:
  void tell(const Node& node, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(node.where(), rule, std::move(message), std::move(hint)));
  }
  void warn(const Node& node, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(warning_at(node.where(), rule, std::move(message), std::move(hint)));
  }

  void judge_group(const Node& group, bool restricted) {
    const Node* name = group.find("InstanceGroupName");
    if (name != nullptr && !names_.insert(name->text()).second)
      tell(*name, "hyperpod-group", fmt::format("two instance groups are called {}", name->text()));
    const Node* type = group.find("InstanceType");
    if (type != nullptr && !type->text().starts_with("ml."))
      tell(*type, "hyperpod-group", fmt::format("{} is no type of SageMaker's", type->text()),
           "ml." + type->text());
    const Node* threads = group.find("ThreadsPerCore");
    if (threads != nullptr && threads->text() != "1" && threads->text() != "2")
      tell(*threads, "hyperpod-group", fmt::format("ThreadsPerCore {}: 1 or 2", threads->text()));
    if (const Node* life = group.find("LifeCycleConfig")) lifecycle(*life);
    if (group.find("LifeCycleConfig") == nullptr && !restricted &&
        node_at(request_, "Orchestrator.Slurm") == nullptr)
      warn(group, "hyperpod-lifecycle", "the group has no LifeCycleConfig: nothing sets it up");
    zone(group);
  }

  // The scripts of a group are in the folder that is uploaded to SourceS3Uri.
  void lifecycle(const Node& life) {
    const Node* uri = life.find("SourceS3Uri");
    const Node* created = life.find("OnCreate");
    const Node* completed = life.find("OnInitComplete");
    if (created != nullptr && completed != nullptr)
      tell(*completed, "hyperpod-lifecycle", "OnCreate and OnInitComplete exclude each other");
    if (created == nullptr && completed == nullptr)
      tell(life, "hyperpod-lifecycle", "no script: OnCreate or OnInitComplete");
    if (uri != nullptr && !uri->text().starts_with("s3://"))
      tell(*uri, "hyperpod-lifecycle", fmt::format("no place in S3: {}", uri->text()));
    if (uri != nullptr && uri->text().starts_with("s3://") &&
        !uri->text().starts_with("s3://sagemaker-") && uri->text().find('$') == std::string::npos)
      warn(*uri, "hyperpod-lifecycle",
           "the managed policy of instance roles reads buckets whose names start with sagemaker-",
           "such a name, or a policy of its own");
    if (source_.files == nullptr || uri == nullptr) return;
    const auto folder = script_folder(uri->text());
    if (!folder) return;
    for (const Node* script : {created, completed}) {
      if (script == nullptr || source_.files->exists(*folder / script->text())) continue;
      const auto names = source_.files->list(*folder);
      const auto near = names ? did_you_mean(script->text(), *names) : std::nullopt;
      tell(*script, "hyperpod-lifecycle",
           fmt::format("{} is not in {}", script->text(), folder->string()),
           near ? fmt::format("did you mean {}?", *near) : "");
    }
  }

  std::optional<std::filesystem::path> script_folder(const std::string& uri) const {
    std::string last = uri;
    while (last.ends_with('/')) last.pop_back();
    last = last.substr(last.rfind('/') + 1);
    const auto here = source_.path.parent_path();
    for (const std::string& name :
         {last, std::string("lifecycle-scripts"), std::string("LifecycleScripts/base-config"),
          std::string("LifecycleScripts"), std::string("lifecycle"), std::string("scripts")}) {
      const auto info = source_.files->info(here / name);
      if (info && info->kind == FileInfo::Kind::kDirectory) return here / name;
    }
    return std::nullopt;
  }

  const Node* subnets_of(const Node& group) const {
    const Node* own = node_at(group, "OverrideVpcConfig.Subnets");
    return own != nullptr ? own : node_at(request_, "VpcConfig.Subnets");
  }

  // A plan or reservation is of one zone.
  void zone(const Node& group) {
    const Node* plan = group.find("TrainingPlanArn");
    const Node* subnets = subnets_of(group);
    if (subnets == nullptr || !beside_.subnets) return;
    std::set<std::string> zones;
    std::string type = text_at(group, "InstanceType");
    if (plan != nullptr && beside_.plans) {
      const Node* row =
          find_row(beside_.plans, "TrainingPlanSummaries", "TrainingPlanArn", plan->text());
      if (row == nullptr) {
        return tell(*plan, "hyperpod-plan",
                    fmt::format("no training plan {} in {}", plan->text(),
                                beside_.plans->where().file.str()));
      }
      zones = zones_of_plan(group, *row, *plan);
    } else if (beside_.reservations) {
      if (type.starts_with("ml.")) type.erase(0, 3);
      for (const Node& row : beside_.reservations->find("CapacityReservations")->items()) {
        if (text_at(row, "InstanceType") == type) zones.insert(text_at(row, "AvailabilityZone"));
      }
    }
    if (zones.empty()) return;
    for (const Node& subnet : subnets->items()) {
      const Node* row = find_row(beside_.subnets, "Subnets", "SubnetId", subnet.text());
      if (row == nullptr) continue;  // told with the network
      const std::string name = text_at(*row, "AvailabilityZone");
      const std::string id = text_at(*row, "AvailabilityZoneId");
      if (zones.count(name) > 0 || zones.count(id) > 0) return;
    }
    tell(*subnets, "hyperpod-zone",
         fmt::format("the capacity of {} is in {}, and no subnet of it is",
                     text_at(group, "InstanceGroupName"), fmt::join(zones, ", ")),
         "OverrideVpcConfig with a subnet of that zone");
  }

  std::set<std::string> zones_of_plan(const Node& group, const Node& row, const Node& plan) {
    std::set<std::string> zones;
    std::int64_t count = 0;
    bool typed = false;
    const Node* reserved = row.find("ReservedCapacitySummaries");
    if (reserved == nullptr) return zones;
    for (const Node& one : reserved->items()) {
      if (text_at(one, "InstanceType") != text_at(group, "InstanceType")) continue;
      typed = true;
      count += integer_at(one, "TotalInstanceCount").value_or(0);
      zones.insert(text_at(one, "AvailabilityZone"));
    }
    if (!typed) {
      tell(plan, "hyperpod-plan",
           fmt::format("the plan has no {}", text_at(group, "InstanceType")));
    } else if (integer_at(group, "InstanceCount").value_or(0) > count) {
      tell(*group.find("InstanceCount"), "hyperpod-plan",
           fmt::format("{} instances of a plan for {}", text_at(group, "InstanceCount"), count));
    }
    return zones;
  }

  // Of the two ways to tell Slurm its node groups: in the request, or in a file for the scripts.
  void orchestration() {
    const bool eks = node_at(request_, "Orchestrator.Eks") != nullptr;
    const bool slurm = node_at(request_, "Orchestrator.Slurm") != nullptr;
    std::size_t controllers = 0, with = 0;
    const Node* without = nullptr;
    for (const Node* group : groups_) {
      const Node* config = group->find("SlurmConfig");
      if (config == nullptr) {
        without = group;
        continue;
      }
      ++with;
      const std::string type = text_at(*config, "NodeType");
      controllers += type == "Controller" ? 1 : 0;
      const Node* partitions = config->find("PartitionNames");
      if (type == "Compute" && (partitions == nullptr || partitions->items().empty()))
        tell(*config, "hyperpod-slurm", "a group of compute nodes is in a partition",
             "PartitionNames");
      if (type != "Compute" && partitions != nullptr)
        tell(*partitions, "hyperpod-slurm",
             fmt::format("a group of the type {} is in no partition", type));
    }
    if (eks) {
      if (with > 0) tell(request_, "hyperpod-slurm", "SlurmConfig of a cluster of EKS");
      if (beside_.provisioning)
        warn(*beside_.provisioning, "hyperpod-provisioning",
             "a cluster of EKS has no provisioning parameters of Slurm");
      return;
    }
    if (with > 0 && without != nullptr)
      tell(*without, "hyperpod-slurm",
           fmt::format("{} has no SlurmConfig, and other groups have",
                       text_at(*without, "InstanceGroupName")));
    if (with > 0 && controllers == 0)
      tell(request_, "hyperpod-slurm", "no group is the controller",
           "SlurmConfig: {NodeType: Controller}");
    if (with == 0 && slurm)
      tell(*node_at(request_, "Orchestrator.Slurm"), "hyperpod-slurm",
           "Slurm is set up by the service, and no group has a SlurmConfig");
    if (with == 0 && !slurm && !beside_.provisioning && !groups_.empty())
      warn(request_, "hyperpod-provisioning",
           "no provisioning_parameters.json lies beside it, which the lifecycle scripts need",
           "that file, or Orchestrator.Slurm with SlurmConfig of each group");
  }

  const Node* group_named(const std::string& name) const {
    for (const Node* group : groups_) {
      if (text_at(*group, "InstanceGroupName") == name) return group;
    }
    return nullptr;
  }

  void named_group(const Node& node, const char* node_type, const std::string& partition) {
    const Node* group = group_named(node.text());
    if (group == nullptr) {
      const auto near =
          did_you_mean(node.text(), std::vector<std::string>(names_.begin(), names_.end()));
      return tell(node, "hyperpod-provisioning",
                  fmt::format("no instance group {} in {}", node.text(), source_.path.string()),
                  near ? fmt::format("did you mean {}?", *near) : "");
    }
    const Node* config = group->find("SlurmConfig");
    if (config == nullptr) return;
    const std::string said = text_at(*config, "NodeType");
    if (said != node_type) {
      return tell(node, "hyperpod-provisioning",
                  fmt::format("{} is {} here, and {} in the request", node.text(), node_type, said),
                  fmt::format("the request says so at {}", to_string(config->where())));
    }
    if (partition.empty()) return;
    const auto partitions = texts_at(*config, "PartitionNames");
    if (std::find(partitions.begin(), partitions.end(), partition) == partitions.end())
      tell(node, "hyperpod-provisioning",
           fmt::format("{} is in the partition {} here, and in {} by the request", node.text(),
                       partition, fmt::join(partitions, ", ")),
           fmt::format("the request says so at {}", to_string(config->where())));
  }

  void against_provisioning(const Node& file) {
    if (const Node* controller = file.find("controller_group"))
      named_group(*controller, "Controller", {});
    if (const Node* login = file.find("login_group")) named_group(*login, "Login", {});
    if (const Node* workers = file.find("worker_groups")) {
      for (const Node& worker : workers->items()) {
        if (const Node* name = worker.find("instance_group_name"))
          named_group(*name, "Compute", text_at(worker, "partition_name"));
      }
    }
  }

  void network() {
    std::vector<const Node*> configs;
    if (const Node* vpc = request_.find("VpcConfig")) configs.push_back(vpc);
    for (const Node* group : groups_) {
      if (const Node* own = group->find("OverrideVpcConfig")) configs.push_back(own);
    }
    for (const Node* config : configs) {
      if (const Node* subnets = config->find("Subnets")) {
        for (const Node& subnet : subnets->items()) judge_subnet(subnet);
      }
      if (const Node* groups = config->find("SecurityGroupIds")) {
        for (const Node& group : groups->items()) judge_security_group(group);
      }
    }
    addresses();
  }

  void judge_subnet(const Node& subnet) {
    if (!beside_.subnets) return;
    const Node* row = find_row(beside_.subnets, "Subnets", "SubnetId", subnet.text());
    if (row == nullptr)
      return tell(
          subnet, "hyperpod-subnet",
          fmt::format("no subnet {} in {}", subnet.text(), beside_.subnets->where().file.str()));
    if (boolean_at(*row, "MapPublicIpOnLaunch") == true)
      tell(
          subnet, "hyperpod-subnet",
          fmt::format("{} gives public addresses: instances of a cluster take none", subnet.text()),
          "a private subnet");
    const std::string network = text_at(*row, "VpcId");
    if (network_.empty()) network_ = network;
    if (network_ != network)
      tell(subnet, "hyperpod-subnet",
           fmt::format("{} is in another network than the other subnets", subnet.text()));
  }

  void judge_security_group(const Node& group) {
    if (!beside_.groups) return;
    const Node* row = find_row(beside_.groups, "SecurityGroups", "GroupId", group.text());
    if (row == nullptr)
      return tell(group, "hyperpod-efa-group",
                  fmt::format("no security group {} in {}", group.text(),
                              beside_.groups->where().file.str()));
    for (const auto& [key, way] :
         {std::pair{"IpPermissions", "from"}, {"IpPermissionsEgress", "to"}}) {
      const Node* rules = row->find(key);
      bool self = false;
      if (rules != nullptr) {
        for (const Node& rule : rules->items()) {
          const Node* pairs = rule.find("UserIdGroupPairs");
          if (text_at(rule, "IpProtocol") != "-1" || pairs == nullptr) continue;
          for (const Node& pair : pairs->items()) self |= text_at(pair, "GroupId") == group.text();
        }
      }
      if (!self)
        tell(group, "hyperpod-efa-group",
             fmt::format("{} has no rule for all traffic {} itself, which EFA needs", group.text(),
                         way),
             "egress to 0.0.0.0/0 is not enough for EFA");
    }
  }

  // Each EFA interface takes an address.
  void addresses() {
    if (!beside_.subnets) return;
    std::map<std::string, std::int64_t> wanted;
    std::map<std::string, const Node*> where;
    for (const Node* group : groups_) {
      const Node* subnets = subnets_of(*group);
      if (subnets == nullptr || subnets->items().size() != 1) continue;
      const auto instance = facts::find_instance(known_.instances, text_at(*group, "InstanceType"));
      const std::int64_t each = instance ? std::max(1, instance->network.efa_count.value_or(1)) : 1;
      const std::string id = subnets->items()[0].text();
      wanted[id] += each * integer_at(*group, "InstanceCount").value_or(0);
      where.emplace(id, &subnets->items()[0]);
    }
    for (const auto& [id, count] : wanted) {
      const Node* row = find_row(beside_.subnets, "Subnets", "SubnetId", id);
      const auto room = row ? integer_at(*row, "AvailableIpAddressCount") : std::nullopt;
      if (room && *room < count)
        tell(*where[id], "hyperpod-subnet",
             fmt::format("the groups need {} addresses, and {} has {}", count, id, *room));
    }
  }

  void storage() {
    if (!beside_.provisioning || !beside_.file_systems) return;
    const Node* dns = beside_.provisioning->find("fsx_dns_name");
    const Node* mount = beside_.provisioning->find("fsx_mountname");
    if (dns == nullptr) return;
    const Node* row = find_row(beside_.file_systems, "FileSystems", "DNSName", dns->text());
    if (row == nullptr)
      return tell(*dns, "hyperpod-fsx",
                  fmt::format("no file system {} in {}", dns->text(),
                              beside_.file_systems->where().file.str()));
    const std::string right = text_at(*row, "LustreConfiguration.MountName");
    if (mount != nullptr && !right.empty() && mount->text() != right)
      tell(*mount, "hyperpod-fsx",
           fmt::format("the mount name of {} is {}, not {}", dns->text(), right, mount->text()));
    const std::string network = text_at(*row, "VpcId");
    if (!network_.empty() && !network.empty() && network != network_)
      tell(*dns, "hyperpod-fsx",
           fmt::format("{} is in the network {}, and the cluster in {}", dns->text(), network,
                       network_));
  }

  const Node& request_;
  const Source& source_;
  const facts::Facts& known_;
  Findings& findings_;
  Beside beside_;
  std::vector<const Node*> groups_;
  std::set<std::string> names_;
  std::string network_;
};

const Schema& provisioning_schema() {
  using S = Schema;
  static const Schema kSchema = S::object(
      "Parameters of HyperPod's lifecycle scripts",
      {
          {"version", S::text("Version of the format").one_of({"1.0.0"}).required()},
          {"workload_manager", S::text("What runs jobs").one_of({"slurm"}).required()},
          {"controller_group", S::text("Instance group of the controller").required()},
          {"login_group", S::text("Instance group of the login nodes")},
          {"worker_groups",
           S::list("Groups of compute nodes",
                   S::object("A group", {{"instance_group_name", S::text("Its name").required()},
                                         {"partition_name", S::text("Its partition").required()}}))
               .required()},
          {"fsx_dns_name", S::text("Lustre's address")},
          {"fsx_mountname", S::text("Lustre's mount name")},
          {"fsx_openzfs_dns_name", S::text("OpenZFS for home folders")},
          {"slurm_configurations",
           S::object("Several head nodes",
                     {{"slurm_database_secret_arn", S::text("Secret of the database").required()},
                      {"slurm_database_endpoint", S::text("Its address").required()},
                      {"slurm_shared_directory", S::text("Shared folder").required()},
                      {"slurm_database_user", S::text("Its user").required()},
                      {"slurm_sns_arn", S::text("Topic for failovers")}})
               .optional_group()},
      });
  return kSchema;
}

}  // namespace

void check_hyperpod_cluster(const Node& request, const Source& source, const facts::Facts& known,
                            Findings& findings) {
  if (request.is_mapping()) HyperpodRequest(request, source, known, findings).run();
}

void check_provisioning(const Node& parameters, Findings& findings) {
  for (Finding& finding : provisioning_schema().check(parameters, "hyperpod-provisioning"))
    findings.push_back(std::move(finding));
  const Node* dns = parameters.find("fsx_dns_name");
  const Node* mount = parameters.find("fsx_mountname");
  if ((dns == nullptr) != (mount == nullptr))
    findings.push_back(error_at((dns != nullptr ? dns : mount)->where(), "hyperpod-fsx",
                                "fsx_dns_name and fsx_mountname go together"));
}

}  // namespace muster::lint
