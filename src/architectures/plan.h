// The plan of a cluster: from what is wanted to the stacks that make it, in order, with the value
// or the source of every parameter. A function from data to data: no disk, no process, no network.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "architectures/interfaces.h"
#include "architectures/network.h"
#include "base/file_system.h"
#include "catalog/architecture.h"
#include "catalog/cluster.h"
#include "facts/facts.h"

namespace muster::architectures {

struct PlannedParameter {
  std::string name;
  std::string value;   ///< empty when it comes from a stack
  std::string stack;   ///< name of the stack whose output it is; empty: `value` counts
  std::string output;  ///< key of that output
  std::string source;  ///< as architecture.yaml says it
};

struct PlannedStack {
  std::string id;             ///< as architecture.yaml names it, with -GROUP
  std::string name;           ///< of the stack
  std::string template_file;  ///< from the project
  std::string file;           ///< what the rendered template is called
  std::string template_text;  ///< with its blocks filled in
  bool is_plain = false;      ///< the template has no blocks of this cluster
  std::vector<PlannedParameter> parameters;
  std::vector<std::string> capabilities;
  std::vector<std::string> needs;  ///< names of stacks whose outputs it takes
  std::vector<std::string> keeps;  ///< resources that stay when the stack is deleted
};

struct PlannedDocument {
  std::string file, content;
  std::string apply;  ///< the command that uses it; may be empty
};

struct Plan {
  catalog::ClusterSpec cluster;
  catalog::Architecture architecture;
  AddressPlan addresses;  ///< without zones when the network is there already
  std::vector<GroupLayout> layouts;
  std::vector<PlannedStack> stacks;
  std::vector<PlannedDocument> documents;
  std::vector<std::string> needs;  ///< what has to be there before, in words
  Findings findings;

  const PlannedStack* find(const std::string& id) const;

  /// An output of a stack of this cluster in the text of a document: "${stacks.ID.KEY}", or the id
  /// itself where the network is there already; empty when neither is.
  std::string output(const std::string& id, const std::string& key) const;
};

/// Templates by their path from the project.
using Templates = std::map<std::string, std::string>;

/// Plans a cluster. Findings are located in the cluster's file, the architecture's or a template.
Plan plan_cluster(const catalog::ClusterSpec& cluster, const catalog::Architecture& architecture,
                  const Templates& templates, const facts::Facts& known);

/// Reads `path`, its architecture and that one's templates below `project`, and plans. Failure:
/// one of them can't be read.
Result<Plan> plan_file(const FileSystem& files, const std::filesystem::path& project,
                       const std::filesystem::path& path, const facts::Facts& known);

/// {cluster, architecture, region, stacks[], addresses, groups[], documents[], needs[],
/// findings[]}.
nlohmann::ordered_json to_json(const Plan& plan);

/// The same for people.
std::string to_text(const Plan& plan);

}  // namespace muster::architectures
