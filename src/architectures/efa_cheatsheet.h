// architectures/efa-cheatsheet.md: what to set for EFA and what not, from the rules that validate
// applies.
#pragma once

#include <string>

#include "facts/facts.h"

namespace muster::architectures {

/// The page, as Markdown. Every value of it is a fact's: environment.yaml, instances.yaml.
std::string efa_cheatsheet(const facts::Facts& known);

}  // namespace muster::architectures
