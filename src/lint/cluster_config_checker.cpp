// Which files are configurations of clusters, and the checkers of each.
#include <algorithm>
#include <array>
#include <iterator>

#include "lint/cloudformation_rules.h"
#include "lint/cluster_configs.h"

namespace muster::lint {
namespace {

bool holds(const std::string& text, const char* what) {
  return text.find(what) != std::string::npos;
}

bool starts_a_line(const std::string& text, const char* start) {
  return text.rfind(start, 0) == 0 || holds(text, (std::string("\n") + start).c_str());
}

bool is_yaml_file(const Source& source) {
  return source.path.extension() == ".yaml" || source.path.extension() == ".yml";
}

bool is_eksctl(const Source& source) {
  return is_yaml_file(source) && holds(source.text, "eksctl.io/") &&
         holds(source.text, "ClusterConfig");
}

bool is_parallelcluster(const Source& source) {
  return is_yaml_file(source) && starts_a_line(source.text, "HeadNode:") &&
         starts_a_line(source.text, "Scheduling:");
}

bool is_hyperpod_request(const Source& source) {
  return source.path.extension() == ".json" && holds(source.text, "\"InstanceGroups\"") &&
         (holds(source.text, "\"ClusterName\"") || holds(source.text, "\"InstanceGroupName\"")) &&
         !holds(source.text, "\"Resources\"") && !holds(source.text, "\"ClusterArn\": \"arn");
}

bool is_provisioning(const Source& source) {
  return source.path.extension() == ".json" &&
         (source.path.filename() == "provisioning_parameters.json" ||
          (holds(source.text, "\"workload_manager\"") &&
           holds(source.text, "\"controller_group\"")));
}

// The rules of the data, under the name of the tool.
struct RuleNames {
  const char *property, *required, *value;
};
constexpr RuleNames kEksctl = {"eksctl-key", "eksctl-missing-key", "eksctl-value"};
constexpr RuleNames kParallelCluster = {"parallelcluster-key", "parallelcluster-missing-key",
                                        "parallelcluster-value"};
constexpr RuleNames kHyperpod = {"hyperpod-key", "hyperpod-missing-key", "hyperpod-value"};

void against_types(const Node& document, const Source& source, const char* file, const char* type,
                   const RuleNames& names, Findings& findings, bool& unreadable) {
  const auto types = CfnTypes::load_once(source.files, source.root, file);
  if (!types) {
    unreadable = true;
    findings.insert(findings.end(), types.findings().begin(), types.findings().end());
    return;
  }
  const CfnResourceType* known = (*types)->find(type);
  if (known == nullptr) return;
  for (Finding& finding : check_cfn_document(document, **types, *known, "")) {
    if (finding.rule == "cfn-property") finding.rule = names.property;
    if (finding.rule == "cfn-required") finding.rule = names.required;
    if (finding.rule == "cfn-value") finding.rule = names.value;
    findings.push_back(std::move(finding));
  }
}

Findings check_cluster_config(const Source& source, const facts::Facts& known, bool& unreadable) {
  const bool json = source.path.extension() == ".json";
  const auto document = json ? parse_json(source.text, source.path.string())
                             : parse_yaml(source.text, source.path.string());
  if (!document) {
    unreadable = true;
    return document.findings();
  }
  Findings findings;
  if (is_eksctl(source)) {
    against_types(*document, source, "cluster-configs/eksctl.txt", "eksctl::ClusterConfig", kEksctl,
                  findings, unreadable);
    check_eksctl(*document, known, findings);
  } else if (is_parallelcluster(source)) {
    against_types(*document, source, "cluster-configs/parallelcluster.txt",
                  "parallelcluster::Cluster", kParallelCluster, findings, unreadable);
    check_parallelcluster(*document, known, findings);
  } else if (is_provisioning(source)) {
    check_provisioning(*document, findings);
  } else {
    against_types(*document, source, "cloudformation/types.txt", "AWS::SageMaker::Cluster",
                  kHyperpod, findings, unreadable);
    check_hyperpod_cluster(*document, source, known, findings);
  }
  return findings;
}

bool is_cluster_config(const Source& source) {
  return is_eksctl(source) || is_parallelcluster(source) || is_provisioning(source) ||
         is_hyperpod_request(source);
}

}  // namespace

const Checker kClusterConfigChecker{"cluster-config", is_cluster_config, check_cluster_config};

}  // namespace muster::lint
