// What kubectl prints as JSON, as data. Pure; what is not understood is kept and shown, never taken
// for good.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/kubernetes_job.h"
#include "runs/judge.h"

namespace muster::launch {

/// What the state of an object means for somebody who waits for it.
enum class KubePhase {
  kSuspended,  ///< its queue has not let it in: its pods are not made yet
  kWaiting,    ///< made, not (all) running
  kRunning,
  kSucceeded,
  kFailed,
  kUnknown,  ///< says something that this version does not know
};

struct KubeObject {
  std::string state;    ///< as its operator wrote it: "Running", "Failed"; empty: nothing yet
  std::string reason;   ///< of the state, one word: "DeadlineExceeded"
  std::string message;  ///< of the state, a sentence
  KubePhase phase = KubePhase::kWaiting;

  bool operator==(const KubeObject&) const = default;
};

/// `kubectl get KIND NAME -o json` of a Job, JobSet, PyTorchJob, MPIJob, TrainJob, RayJob,
/// RayCluster, RayService, LeaderWorkerSet, Deployment, HyperPodPyTorchJob, or of any other kind
/// that has conditions. Error: not the object's JSON.
Result<KubeObject> parse_kube_object(std::string_view text);

struct KubePod {
  std::string name, node, phase;  ///< phase as Kubernetes wrote it: "Pending", "Running"
  std::string reason, message;    ///< why it does not run, or how it ended
  std::string container;          ///< the one that `reason` and `exit_code` are about
  std::optional<int> exit_code;   ///< of a container that ended with an error
  int restarts = 0;               ///< of all its containers
  bool up = false;                ///< has started all its containers, or has ended
  bool hopeless = false;          ///< waits for what can't come by itself

  bool operator==(const KubePod&) const = default;
};

/// `kubectl get pods -o json`, by name. Error: not a list of pods.
Result<std::vector<KubePod>> parse_kube_pods(std::string_view text);

/// Warnings of `kubectl get events -o json`, the last of each kind: "FailedCreate: exceeded quota".
std::vector<std::string> parse_kube_warnings(std::string_view text);

/// True when kubectl says that there is no such object (any more), by its standard error.
bool says_not_found(std::string_view standard_error);

/// One line of kubectl's own errors, without its "Error from server (Reason): …" in front.
std::string kube_error(std::string_view standard_error);

/// How an object that is in `status` for good ended.
runs::LauncherResult conclude(const KubeJob& job, const KubeObject& status,
                              const std::vector<KubePod>& pods);

/// "pod x-worker-1 on n2: OOMKilled, exit code 137".
std::string describe(const KubePod& pod);

/// One line for a person: "PyTorchJob x: Running, 4 of 4 pods run".
std::string describe(const KubeJob& job, const KubeObject& status,
                     const std::vector<KubePod>& pods);

}  // namespace muster::launch
