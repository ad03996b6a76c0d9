#include "launch/submission.h"

namespace muster::launch {

std::unique_ptr<Submission> submission_for(Target target, const Seams& seams) {
  switch (target) {
    case Target::kLocal:
      return local_submission(seams);
    case Target::kSlurm:
      return slurm_submission(seams);
    case Target::kKubernetes:
    case Target::kHyperpodEks:
      return kubernetes_submission(seams);
    case Target::kBatch:
      return batch_submission(seams);
  }
  return nullptr;
}

}  // namespace muster::launch
