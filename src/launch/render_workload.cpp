#include "launch/render_workload.h"

#include "launch/batch.h"
#include "launch/kubernetes.h"
#include "launch/slurm_script.h"

namespace muster::launch {
Result<Rendered> render_workload(const Workload& workload, const catalog::ResolvedCase& resolved,
                                 Target target) {
  if (target == Target::kKubernetes || target == Target::kHyperpodEks) {
    auto files = render_kubernetes(workload, resolved, target == Target::kHyperpodEks);
    if (!files) return files.error();
    Rendered rendered;
    rendered.command = kubernetes_submission(*files, resolved, target == Target::kHyperpodEks);
    rendered.files = std::move(*files);
    rendered.programs = {"kubectl"};
    return rendered;
  }
  if (target == Target::kSlurm) return render_slurm_workload(workload, resolved);
  if (target == Target::kBatch) return render_batch(workload, resolved);
  return Failure(error_at({resolved.file.string(), 0, 0}, "launch-target",
                          "what runs on this machine is made when it runs",
                          "muster run --target local --dry-run"));
}

}  // namespace muster::launch
