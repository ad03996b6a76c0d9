// What `muster run` follows on a cluster, by the objects that were rendered for it. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/render.h"

namespace muster::launch {

/// The objects of one run, as they were rendered.
struct KubeJob {
  std::string resource;  ///< of the one that tells how the run ends: "job.batch"
  std::string kind;      ///< "Job"
  std::string name, name_space;
  std::vector<std::string> selectors;  ///< labels by which all pods of it are found, each alone
  int pods = 0;                        ///< that have to run before it has started
};

/// Of the documents of a rendered file: the object that tells how the run ends is the last of them.
/// Error: a file that holds none.
Result<KubeJob> kube_job_of(const RenderedFile& file);

}  // namespace muster::launch
