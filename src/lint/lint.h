// Checking files offline: which files, which checker for each, and what they find.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/finding.h"
#include "facts/facts.h"

namespace muster::lint {

/// One file under check.
struct Source {
  std::filesystem::path path;  ///< as findings name it
  std::filesystem::path root;  ///< the project
  std::string text;
  const FileSystem* files = nullptr;  ///< where others lie that the file names; null: not asked
};

/// What one kind of file is recognised and checked by. Later kinds (CloudFormation, Kubernetes
/// objects, Slurm, …) are one more entry in checkers().
struct Checker {
  const char* name;  ///< shown in results, e.g. "manifest"
  /// Whether a path that was found in a directory is this checker's, judged by the path and what is
  /// in it.
  bool (*claims)(const Source& source);
  /// What is wrong. Sets `unreadable` when the text is not even of its format: then no rule was
  /// applied.
  Findings (*check)(const Source& source, const facts::Facts& known, bool& unreadable);
  /// What is wrong between the files of this kind that are checked together; null: nothing is
  /// looked for.
  Findings (*check_together)(const std::vector<const Source*>& sources) = nullptr;
};

/// In order of precedence.
const std::vector<Checker>& checkers();

/// The checker of manifests and facts files: YAML with `apiVersion: muster/…`, every case.yaml,
/// everything below facts/.
extern const Checker kManifestChecker;

/// The checker of Slurm's batch scripts (sbatch_rules.h): *.sbatch, *.slurm, shell scripts with
/// #SBATCH directives.
extern const Checker kSbatchChecker;

/// The checker of Dockerfiles (dockerfile_rules.h): Dockerfile, Dockerfile.*, *.Dockerfile and the
/// same with other spellings.
extern const Checker kDockerfileChecker;

/// Whether a file of this name is a Dockerfile.
bool is_dockerfile_name(const std::string& name);

/// Whether a file of this name is one of Slurm's configuration.
bool is_slurm_file_name(const std::string& name);

/// The checker of Kubernetes objects (kubernetes_objects.h): YAML with `apiVersion:` and `kind:`
/// that is not Muster's.
extern const Checker kKubernetesChecker;

/// The checker of Slurm's configuration (slurm_conf.h): slurm.conf with the gres.conf, cgroup.conf,
/// topology.conf or topology.yaml and slurmdbd.conf beside it, and each of those by itself.
extern const Checker kSlurmSetChecker;

/// The checker of CloudFormation templates (cloudformation_rules.h): YAML or JSON with
/// `AWSTemplateFormatVersion`, or with `Resources` of types of AWS.
extern const Checker kCloudFormationChecker;

/// The checker of clusters' configurations (cluster_configs.h): eksctl's, ParallelCluster's,
/// HyperPod's requests and provisioning parameters.
extern const Checker kClusterConfigChecker;

/// The checkers of Ansible's playbooks and roles and of Packer's templates (ansible_rules.h).
extern const Checker kAnsibleChecker;
extern const Checker kPackerChecker;

struct Report {
  std::vector<std::pair<std::filesystem::path, const char*>> checked;  ///< file and checker
  Findings findings;
  bool unreadable = false;  ///< something could not be read or parsed

  /// What `validate` exits with: 2 unreadable, 3 errors, 4 nothing was checked, else 0.
  int exit_code() const;
};

/// Checks files and whole directories. A file that is named directly and that no checker knows is
/// an error of its own when it is YAML or JSON (it was meant to be checked), and left out
/// otherwise, with a warning.
Report validate(const FileSystem& files, const std::filesystem::path& root,
                const std::vector<std::filesystem::path>& paths);

/// Every file of the project that a checker knows: below test_cases/, facts/, architectures/,
/// ami_and_containers/, micro-benchmarks/ and validation_and_observability/.
Report validate_all(const FileSystem& files, const std::filesystem::path& root);

}  // namespace muster::lint
