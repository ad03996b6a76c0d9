// A plan under the names that it has here.
#pragma once

#include "catalog/reorganisation.h"

namespace muster::reorg {

using catalog::git_can_hold;
using catalog::read_plan;
using catalog::RepositoryPlan;
using Consumer = catalog::Consumer;
using Plan = catalog::Reorganisation;
using Rule = catalog::MoveRule;

}  // namespace muster::reorg
