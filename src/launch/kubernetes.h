// Workload -> Kubernetes objects as YAML, for plain Kubernetes and for HyperPod on EKS. Pure.
#pragma once

#include <vector>

#include "base/result.h"
#include "catalog/case.h"
#include "launch/render.h"
#include "launch/workload.h"

namespace muster::launch {

/// The objects of `targets.kubernetes` (of `targets.hyperpod-eks` where `hyperpod`), one file of
/// one or more documents, named KIND-OF-TARGET/<object name>.yaml. Errors: located, for what the
/// object can't express.
Result<std::vector<RenderedFile>> render_kubernetes(const Workload& workload,
                                                    const catalog::ResolvedCase& resolved,
                                                    bool hyperpod);

}  // namespace muster::launch
