#include "cli/kind_clusters.h"

#include "architectures/clusters.h"
#include "facts/reading.h"

namespace muster::cli {

std::vector<OutputColumn> cluster_columns() {
  return {{"NAME", "name"},
          {"KIND", "kind"},
          {"INSTANCES", "instances"},
          {"STATUS", "status"},
          {"STACKS", "stacks", true}};
}

Result<nlohmann::ordered_json> list_clusters(const Context& context) {
  const auto clusters = architectures::find_clusters(context.processes);
  if (!clusters) return clusters.error();
  auto items = nlohmann::ordered_json::array();
  for (const architectures::Cluster& cluster : *clusters)
    items.push_back(architectures::to_json(cluster));
  return items;
}

Result<Shown> show_cluster(const Context& context, const std::string& name) {
  const auto clusters = architectures::find_clusters(context.processes);
  if (!clusters) return clusters.error();
  std::vector<std::string> names;
  for (const architectures::Cluster& cluster : *clusters) {
    if (cluster.name == name) return Shown{architectures::to_json(cluster), {}};
    names.push_back(cluster.name);
  }
  return facts::unknown_name("cluster", name, names);
}

}  // namespace muster::cli
