// The clusters that an account has: HyperPod's own, and those whose stacks Muster made. Read
// through the `aws` command line; parsers are pure.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/process.h"
#include "base/result.h"

namespace muster::architectures {

/// The tag by which a stack says of which cluster it is. A stack without it is somebody else's.
inline constexpr const char* kClusterTag = "muster:cluster";

struct InstanceGroup {
  std::string name, type;
  int current = 0, target = 0;  ///< instances there, and asked for
};

struct Stack {
  std::string name, status;
};

struct Cluster {
  std::string name;
  std::string kind;    ///< hyperpod-slurm, hyperpod-eks, or stacks
  std::string status;  ///< as AWS writes it; of stacks, each that one of them has
  std::vector<InstanceGroup> groups;
  std::vector<Stack> stacks;
};

/// `aws sagemaker list-clusters`: the names, each once, in order.
Result<std::vector<std::string>> parse_cluster_names(const std::string& text);

/// `aws sagemaker describe-cluster`.
Result<Cluster> parse_cluster(const std::string& text);

/// `aws cloudformation describe-stacks`: one cluster for each value of kClusterTag, by name. Stacks
/// without the tag are left out.
Result<std::vector<Cluster>> parse_stacks(const std::string& text);

/// All of them by name. A cluster of HyperPod takes the stacks that carry its name. Failure: AWS
/// could not be asked, or its answer is not understood.
Result<std::vector<Cluster>> find_clusters(ProcessRunner& processes);

/// {name, kind, status, groups[], stacks[]}, with instances as one text for a table.
nlohmann::ordered_json to_json(const Cluster& cluster);

}  // namespace muster::architectures
