#include "launch/render_workload.h"

#include "launch/kubernetes.h"

namespace muster::launch {
namespace {

/// A target whose renderer is not there.
Failure not_rendered(const catalog::ResolvedCase& resolved, Target target) {
  return Failure(
      error_at({resolved.file.string(), 0, 0}, "launch-target",
               std::string("cases of other launchers than native are not rendered for ") +
                   to_string(target) + " by this version"));
}

}  // namespace

Result<Rendered> render_workload(const Workload& workload, const catalog::ResolvedCase& resolved,
                                 Target target) {
  if (target == Target::kKubernetes || target == Target::kHyperpodEks) {
    auto files = render_kubernetes(workload, resolved, target == Target::kHyperpodEks);
    if (!files) return files.error();
    Rendered rendered;
    rendered.command = {"kubectl", "apply", "--server-side"};
    for (const RenderedFile& file : *files) {
      rendered.command.emplace_back("-f");
      rendered.command.push_back(file.path);
    }
    rendered.files = std::move(*files);
    rendered.programs = {"kubectl"};
    return rendered;
  }
  return not_rendered(resolved, target);
}

}  // namespace muster::launch
