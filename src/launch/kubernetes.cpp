#include "launch/kubernetes.h"

namespace muster::launch {

Result<std::vector<RenderedFile>> render_kubernetes(const Workload&,
                                                    const catalog::ResolvedCase& resolved,
                                                    bool hyperpod) {
  return Failure(error_at({resolved.file.string(), 0, 0}, "launch-target",
                          std::string("not rendered for ") +
                              to_string(hyperpod ? Target::kHyperpodEks : Target::kKubernetes) +
                              " by this version"));
}

}  // namespace muster::launch
