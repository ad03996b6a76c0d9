// What SageMaker is sent for a HyperPod cluster, and what its nodes read of it.
#include <algorithm>

#include <fmt/format.h>

#include "architectures/clusters.h"
#include "architectures/document_renderers.h"
#include "base/output.h"

namespace muster::architectures {
namespace {

using Json = nlohmann::ordered_json;
using catalog::NodeGroup;

enum class HyperPodStyle { kScripts, kManaged, kEks };

const char* slurm_node_type(const NodeGroup& group) {
  return group.role == "controller" ? "Controller" : group.role == "login" ? "Login" : "Compute";
}

Json instance_group(const Plan& plan, const NodeGroup& group, const facts::Facts& known,
                    HyperPodStyle style) {
  Json item = {{"InstanceGroupName", group.name},
               {"InstanceType", "ml." + group.instance},
               {"InstanceCount", group.count},
               {"InstanceStorageConfigs",
                Json::array({{{"EbsVolumeConfig", {{"VolumeSizeInGB", group.root_volume}}}}})}};
  const std::string scripts =
      fmt::format("s3://{}/lifecycle", plan.output("hyperpod", "LifecycleBucketName"));
  item["LifeCycleConfig"] = {{"SourceS3Uri", scripts}};
  item["LifeCycleConfig"][style == HyperPodStyle::kManaged ? "OnInitComplete" : "OnCreate"] =
      style == HyperPodStyle::kManaged ? "on_init_complete.sh" : "on_create.sh";
  item["ExecutionRole"] = plan.output("hyperpod", "ExecutionRoleArn");
  item["ThreadsPerCore"] = group.threads_per_core.value_or(group.computes() ? 1 : 2);
  if (!group.capacity.training_plan.empty()) item["TrainingPlanArn"] = group.capacity.training_plan;
  if (style == HyperPodStyle::kEks && has_accelerators(group, known))
    item["OnStartDeepHealthChecks"] = Json::array({"InstanceStress", "InstanceConnectivity"});
  if (style == HyperPodStyle::kManaged) {
    item["SlurmConfig"] = {{"NodeType", slurm_node_type(group)}};
    if (group.computes()) item["SlurmConfig"]["PartitionNames"] = Json::array({group.name});
  }
  if (!plan.cluster.image.empty() && style == HyperPodStyle::kEks)
    item["ImageId"] = plan.cluster.image;
  if (group.zone != plan.cluster.zones.front())
    item["OverrideVpcConfig"] = {
        {"SecurityGroupIds", Json::array({plan.output("network", "SecurityGroup")})},
        {"Subnets", Json::array({subnet_of(plan, group)})}};
  return item;
}

std::string create_cluster(const Plan& plan, const facts::Facts& known, HyperPodStyle style) {
  Json request = {{"ClusterName", plan.cluster.name}, {"InstanceGroups", Json::array()}};
  for (const NodeGroup& group : plan.cluster.groups)
    request["InstanceGroups"].push_back(instance_group(plan, group, known, style));
  request["VpcConfig"] = {
      {"SecurityGroupIds", Json::array({plan.output("network", "SecurityGroup")})},
      {"Subnets", Json::array({plan.output("network", "PrivateSubnet1")})}};
  if (style == HyperPodStyle::kManaged)
    request["Orchestrator"] = {{"Slurm", {{"SlurmConfigStrategy", "Managed"}}}};
  if (style == HyperPodStyle::kEks)
    request["Orchestrator"] = {{"Eks", {{"ClusterArn", plan.output("eks", "ClusterArn")}}}};
  request["NodeRecovery"] = plan.cluster.node_repair ? "Automatic" : "None";
  if (style == HyperPodStyle::kEks && plan.cluster.continuous)
    request["NodeProvisioningMode"] = "Continuous";
  request["Tags"] = Json::array({{{"Key", kClusterTag}, {"Value", plan.cluster.name}}});
  return json_text(request);
}

}  // namespace

std::string hyperpod_cluster(const Plan& plan, const facts::Facts& known) {
  return create_cluster(plan, known, HyperPodStyle::kScripts);
}

std::string hyperpod_cluster_managed(const Plan& plan, const facts::Facts& known) {
  return create_cluster(plan, known, HyperPodStyle::kManaged);
}

std::string hyperpod_cluster_eks(const Plan& plan, const facts::Facts& known) {
  return create_cluster(plan, known, HyperPodStyle::kEks);
}

std::string hyperpod_provisioning(const Plan& plan, const facts::Facts&) {
  const auto named = [&](const char* role) {
    const auto found = std::find_if(plan.cluster.groups.begin(), plan.cluster.groups.end(),
                                    [&](const NodeGroup& group) { return group.role == role; });
    return found != plan.cluster.groups.end() ? &*found : nullptr;
  };
  Json parameters = {{"version", "1.0.0"}, {"workload_manager", "slurm"}};
  const NodeGroup* controller = named("controller");
  if (controller != nullptr) parameters["controller_group"] = controller->name;
  if (const NodeGroup* login = named("login")) parameters["login_group"] = login->name;
  parameters["worker_groups"] = Json::array();
  for (const NodeGroup& group : plan.cluster.groups) {
    if (!group.computes()) continue;
    parameters["worker_groups"].push_back(
        {{"instance_group_name", group.name}, {"partition_name", group.name}});
  }
  if (plan.cluster.lustre) {
    parameters["fsx_dns_name"] = plan.output("storage", "FSxLustreFilesystemDNSname");
    parameters["fsx_mountname"] = plan.output("storage", "FSxLustreFilesystemMountname");
  }
  if (plan.cluster.openzfs)
    parameters["fsx_openzfs_dns_name"] = plan.output("storage", "FSxOpenZFSFileSystemDNSname");
  if (plan.find("accounting") != nullptr)
    parameters["slurm_configurations"] = {
        {"slurm_database_secret_arn", plan.output("accounting", "DatabaseSecretArn")},
        {"slurm_database_endpoint", plan.output("accounting", "DatabaseHost")},
        {"slurm_shared_directory", "/fsx"},
        {"slurm_database_user", plan.output("accounting", "DatabaseAdminUser")}};
  return json_text(parameters);
}

std::string hyperpod_users(const Plan& plan, const facts::Facts&) {
  std::string text;
  for (const catalog::User& user : plan.cluster.users)
    text += fmt::format("{0},{1},/fsx/{0}\n", user.name, user.uid);
  return text;
}

}  // namespace muster::architectures
