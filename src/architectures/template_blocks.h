// Blocks of templates that depend on the instance type. CloudFormation can't make a list of 32
// interfaces from a number, so a template holds it written out, between two lines that name it:
//   # >>> interfaces p5.48xlarge: rendered from facts/instances.yaml, change that
//   …
//   # <<< interfaces
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "facts/instances.h"

namespace muster::architectures {

/// The template with every block as the facts have it, for the type that each names, or for
/// `instance` where that is not empty. Failure, located in `file`: a block that does not end, an
/// unknown block or type.
Result<std::string> fill_template(const std::string& text, const std::string& file,
                                  const std::vector<facts::Instance>& instances,
                                  const std::string& instance = {});

/// The type that the first block names; empty when there is none.
std::string default_instance(const std::string& text);

}  // namespace muster::architectures
