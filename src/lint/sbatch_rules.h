// What is wrong with a batch script of Slurm. Rule identifiers:
//   sbatch-interpreter       no "#!" on the first line, or DOS line ends: sbatch refuses the script
//   sbatch-directive-late    a directive behind the first command: silently not read
//   sbatch-directive-form    a comment that looks like a directive and is none
//   sbatch-option            an option that sbatch or srun does not have
//   sbatch-option-value      an option without the value it needs, or with one it does not take
//   sbatch-log-directory     output goes to a directory that nothing creates: silently dropped
//   sbatch-spool-path        $0, $BASH_SOURCE: the copy in Slurm's spool directory
//   sbatch-unbounded-wait    a loop that waits without a counter or a clock
//   sbatch-unset             a variable that nothing sets
//   sbatch-mpi               an --mpi plugin that Slurm does not offer
//   sbatch-mount             a container mount without a target
//   sbatch-tasks             numbers of nodes, tasks and GPUs that contradict each other
//   sbatch-rank-scope        a task's rank that the batch shell expands: the same for all
//   sbatch-auto-resume       --auto-resume where HyperPod is not asked for
//   sbatch-pin               a partition, account or node list of one cluster (error in a catalog)
//   sbatch-brace             "{NAME}" without "$", or a stray "}"
//   sbatch-syntax            a quote, bracket or here-document that is never closed (warning)
//   sbatch-unchecked         no table of options to check against (warning)
//   sbatch-secret            a secret is written down
//   sbatch-identity, sbatch-region, sbatch-site-path, sbatch-numbered-path: catalog/identities.h
#pragma once

#include "facts/facts.h"
#include "lint/lint.h"
#include "lint/sbatch.h"

namespace muster::lint {

/// What one group of rules needs.
struct SbatchSubject {
  const Source& source;
  const SbatchScript& script;
  const facts::Facts& known;

  Position place(std::size_t at) const;
  bool in_catalog()
      const;  ///< below test_cases/ or micro-benchmarks/: made for every cluster, so for none
};

Findings check_directives(const SbatchSubject& subject);  ///< the lines that sbatch reads
Findings check_numbers(const SbatchSubject& subject);     ///< nodes, tasks, GPUs
Findings check_steps(const SbatchSubject& subject);       ///< srun and what it starts
Findings check_waits(const SbatchSubject& subject);       ///< loops
Findings check_variables(const SbatchSubject& subject);   ///< what is used and never set
Findings check_literals(const SbatchSubject& subject);    ///< secrets, identities, braces, spool
/// Variables of the fabric and of NCCL that the script sets: env-*, lint/environment.h.
Findings check_batch_environment(const SbatchSubject& subject);

}  // namespace muster::lint
