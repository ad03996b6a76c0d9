// Files for tools other than CloudFormation: eksctl, pcluster, SageMaker's create-cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "architectures/plan.h"

namespace muster::architectures {

/// The document that `name` stands for; nothing when nobody renders it. Outputs of stacks stand in
/// it as ${stacks.ID.KEY}, until they are known.
std::optional<std::string> render_document(const std::string& name, const Plan& plan,
                                           const facts::Facts& known);

std::vector<std::string> document_names();

}  // namespace muster::architectures
