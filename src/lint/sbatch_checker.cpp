// Batch scripts of Slurm.
#include "lint/sbatch_rules.h"

namespace muster::lint {
namespace {

bool is_batch_script(const Source& source) {
  const auto extension = source.path.extension();
  if (extension == ".sbatch" || extension == ".slurm") return true;
  return (extension == ".sh" || extension == ".bash" || extension.empty()) &&
         has_sbatch_directives(source.text);
}

Findings check_batch_script(const Source& source, const facts::Facts& known, bool&) {
  const SbatchScript script = parse_sbatch(source.text, known.slurm);
  const SbatchSubject subject{source, script, known};
  Findings findings;
  for (const auto& part : {check_directives, check_numbers, check_steps, check_waits,
                           check_variables, check_literals, check_batch_environment}) {
    Findings found = part(subject);
    std::move(found.begin(), found.end(), std::back_inserter(findings));
  }
  return findings;
}

}  // namespace

const Checker kSbatchChecker{"sbatch", is_batch_script, check_batch_script};

}  // namespace muster::lint
