// The rules for CloudFormation templates: each function looks at one template for one idea. Their
// identifiers, and which defect each refuses, are in docs/cloudformation.md and docs/defects.md.
#pragma once

#include <string>

#include "base/finding.h"
#include "facts/facts.h"
#include "lint/cloudformation_template.h"
#include "lint/cloudformation_types.h"
#include "lint/lint.h"

namespace muster::lint {

/// What a rule has to look at and where it tells what it found.
struct CfnCheck {
  const CfnTemplate& tree;
  const CfnTypes& types;
  const facts::Facts& known;
  const Source& source;
  Findings findings = {};

  void wrong(const Position& where, const char* rule, std::string message, std::string hint = {});
  void warn(const Position& where, const char* rule, std::string message, std::string hint = {});
};

// The language.
void check_cfn_sections(CfnCheck& check);    ///< sections, names, keys of resources and outputs
void check_cfn_parameters(CfnCheck& check);  ///< types, defaults, what can't be empty
void check_cfn_functions(CfnCheck& check);   ///< intrinsic functions and their arguments
void check_cfn_properties(CfnCheck& check);  ///< resource types and properties against the data
void check_cfn_references(CfnCheck& check);  ///< Ref, GetAtt, Sub, DependsOn; cycles
void check_cfn_conditions(CfnCheck& check);  ///< conditions, and uses of what may not be there
void check_cfn_unused(CfnCheck& check);      ///< parameters, mappings, conditions
void check_cfn_nested(CfnCheck& check);      ///< nested stacks whose template is at hand

// What the language knows nothing of.
void check_cfn_groups(CfnCheck& check);       ///< security groups of EFA, rules given twice
void check_cfn_interfaces(CfnCheck& check);   ///< layout of network interfaces by instance type
void check_cfn_capacity(CfnCheck& check);     ///< how capacity is bought, placement groups
void check_cfn_storage(CfnCheck& check);      ///< FSx: type, throughput, capacity, EFA
void check_cfn_network(CfnCheck& check);      ///< addresses, routes, zones, flow logs
void check_cfn_retention(CfnCheck& check);    ///< deletion protection against deletion
void check_cfn_permissions(CfnCheck& check);  ///< actions that a feature needs, too wide policies
void check_cfn_identity(CfnCheck& check);     ///< accounts, images, zones, buckets, partitions
void check_cfn_images(CfnCheck& check);       ///< images of instances and of containers
void check_cfn_jobs(CfnCheck& check);         ///< multi-node jobs of AWS Batch
void check_cfn_scripts(CfnCheck& check);      ///< what instances and functions run
void check_cfn_clusters(CfnCheck& check);     ///< SageMaker, EKS and PCS clusters, directories

/// A document of another tool against a type in the same format: strict, since the data is of the
/// tool's own version. Findings have the rules cfn-property, cfn-required and cfn-value.
Findings check_cfn_document(const Node& document, const CfnTypes& types,
                            const CfnResourceType& type, const std::string& name);

/// Exports and imports of all templates under check together.
Findings check_cfn_set(const std::vector<const CfnTemplate*>& templates);

}  // namespace muster::lint
