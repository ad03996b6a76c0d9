// Variables of the fabric and of NCCL that a batch script sets: `export FI_…`, `env NCCL_…=`,
// mpirun's `-x`, and --export of sbatch and srun.
#include "lint/environment.h"
#include "lint/sbatch_rules.h"

namespace muster::lint {
namespace {

class Set {
 public:
  explicit Set(const SbatchSubject& subject) : subject_(subject) {}

  std::vector<EnvironmentEntry> entries() {
    if (const SbatchOption* option = subject_.script.find("export"))
      list(option->value, option->at + option->written.size() + 1);
    for (const ShellCommand& command : subject_.script.shell.commands) {
      for (const Assignment& assignment : command.assignments)
        add(assignment.name, assignment.value.text,
            assignment.value.at - assignment.name.size() - 1);
      for (const ShellWord& word : command.words) {
        static constexpr std::string_view kExport = "--export=";
        if (word.text.starts_with(kExport)) {
          list(word.text.substr(kExport.size()), word.at + kExport.size());
        } else {
          part(word.text, word.at);
        }
      }
    }
    return std::move(entries_);
  }

 private:
  void add(const std::string& name, const std::string& value, std::size_t at) {
    if (is_of_fabric_or_nccl(name)) entries_.push_back({name, value, subject_.place(at)});
  }

  // "NAME=value".
  void part(const std::string& text, std::size_t at) {
    const auto equals = text.find('=');
    if (equals != std::string::npos && is_shell_name(text.substr(0, equals)))
      add(text.substr(0, equals), text.substr(equals + 1), at);
  }

  // "ALL,NAME=value,…".
  void list(const std::string& text, std::size_t at) {
    for (std::size_t from = 0; from < text.size();) {
      const auto comma = std::min(text.find(',', from), text.size());
      part(text.substr(from, comma - from), at + from);
      from = comma + 1;
    }
  }

  const SbatchSubject& subject_;
  std::vector<EnvironmentEntry> entries_;
};

}  // namespace

Findings check_batch_environment(const SbatchSubject& subject) {
  facts::Circumstances circumstances;
  circumstances.target = "slurm";
  const SbatchOption* nodes = subject.script.find("nodes");
  circumstances.several_nodes = nodes && nodes->value != "1";
  // A cluster that names its features after instance types says which one is asked for.
  if (const SbatchOption* constraint = subject.script.find("constraint"))
    set_instance(circumstances, subject.known, constraint->value);
  return check_environment_entries(Set(subject).entries(), subject.known.environment,
                                   circumstances);
}

}  // namespace muster::lint
