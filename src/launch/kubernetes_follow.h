// Submits the objects of a run with kubectl, follows them to their end, collects their logs and
// deletes them; every question and every wait is bounded.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/process.h"
#include "base/result.h"
#include "launch/follow.h"
#include "launch/kubernetes_logs.h"
#include "launch/kubernetes_parse.h"
#include "runs/judge.h"

namespace muster::launch {

struct KubeFollowOptions {
  std::chrono::milliseconds shortest_poll{1000};   ///< first and after each change
  std::chrono::milliseconds longest_poll{10'000};  ///< grows to this by half each time
  std::chrono::milliseconds start_limit{600'000};  ///< not all pods may be away longer than this
  std::chrono::seconds unreachable{300};           ///< the API server may be away this long
};

/// The objects now.
struct KubeLook {
  KubeObject object;
  std::vector<KubePod> pods;

  bool operator==(const KubeLook&) const = default;
};

/// A cluster, by the words that say which: kubectl, --context=….
class KubeCluster {
 public:
  KubeCluster(std::vector<std::string> kubectl, ProcessRunner& processes)
      : kubectl_(std::move(kubectl)), processes_(processes) {}

  /// The kubeconfig's current context; empty: there is none (in a pod), or kubectl does not say.
  std::string current_context() const;

  /// Has the server check the objects (dry run, strict) and makes them, in their order. What was
  /// made before one was refused is deleted again. The failure holds the server's own words.
  Result<void> create(const std::vector<std::string>& documents) const;

  /// Nothing: the object is not there (any more).
  Result<std::optional<KubeLook>> look(const KubeJob& job) const;

  /// Lines of the pods' containers of the last `since`, in the form that KubeLogs reads; of the
  /// containers before the present ones where `previous`.
  Result<std::string> logs(const KubeJob& job, std::chrono::seconds since) const;
  Result<std::string> previous_logs(const KubeJob& job, const std::string& pod) const;

  /// Warnings on the main object, for when it makes no pods.
  std::vector<std::string> warnings(const KubeJob& job) const;

  /// Deletes the objects of a file and waits for them and their pods to be gone. The failure names
  /// what is left.
  Result<void> remove(const KubeJob& job, const std::filesystem::path& file) const;

 private:
  Result<ProcessResult> ask(const std::vector<std::string>& words, std::chrono::milliseconds limit,
                            const std::string& input = {}) const;
  /// The same; exit codes other than 0 are failures.
  Result<std::string> answer(const std::vector<std::string>& words, std::chrono::milliseconds limit,
                             const std::string& input = {}) const;

  std::vector<std::string> kubectl_;
  ProcessRunner& processes_;
};

/// Told of each change.
using OnKubeLook = std::function<void(const KubeLook&)>;

/// To the job's end, to a stop of `tick`, or to the start limit; logs go to `logs`. The objects are
/// left for the caller to delete. An API server that can't be reached in time gives kUnknown.
runs::LauncherResult follow_kubernetes(const KubeJob& job, const KubeCluster& cluster,
                                       const std::filesystem::path& logs, FileSystem& files,
                                       Clock& clock, const KubeFollowOptions& options,
                                       const Tick& tick, const OnKubeLook& on_look);

/// Whether all pods that have to be there are.
bool all_up(const KubeJob& job, const std::vector<KubePod>& pods);

/// Documents of a rendered file, each as text.
std::vector<std::string> documents_of(const std::string& text);

}  // namespace muster::launch
