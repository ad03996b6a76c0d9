#include "facts/facts.h"

#include <system_error>

#include "facts/reading.h"

namespace muster::facts {
namespace {

// Reads one file when its file is there; findings gather.
template <typename Data>
void load(const FileSystem& files, const std::filesystem::path& root, const char* name,
          Result<Data> (*read)(const FileSystem&, const std::filesystem::path&), Data& data,
          Findings& findings) {
  if (!files.exists(facts_file(files, root, name))) return;
  auto result = read(files, root);
  if (result) {
    data = std::move(*result);
  } else {
    findings.insert(findings.end(), result.findings().begin(), result.findings().end());
  }
}

}  // namespace

std::filesystem::path share_directory() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "share" / "muster";
}

Result<Facts> load_facts(const FileSystem& files, const std::filesystem::path& root) {
  Facts facts;
  Findings findings;
  load(files, root, "instances.yaml", load_instances, facts.instances, findings);
  load(files, root, "datasets.yaml", load_datasets, facts.datasets, findings);
  load(files, root, "models.yaml", load_models, facts.models, findings);
  load(files, root, "versions.yaml", load_versions, facts.versions, findings);
  load(files, root, "end-of-life.yaml", load_end_of_life, facts.end_of_life, findings);
  load(files, root, "environment.yaml", load_environment, facts.environment, findings);
  load(files, root, "floors.yaml", load_performance, facts.performance, findings);
  load(files, root, "registries.yaml", load_registries, facts.public_accounts, findings);
  load(files, root, "slurm-options.yaml", load_slurm_options, facts.slurm, findings);
  if (!findings.empty()) return Failure(std::move(findings));
  facts.floors = facts.versions.floors;
  return facts;
}

}  // namespace muster::facts
