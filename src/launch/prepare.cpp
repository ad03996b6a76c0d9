#include "launch/prepare.h"

#include "base/document.h"
#include "facts/facts.h"
#include "launch/dataset.h"
#include "runs/run_store.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;

/// The case of a run that is taken up again, as it was resolved then.
Result<catalog::ResolvedCase> case_of_run(const RunRequest& request, const Seams& seams) {
  auto store = runs::RunStore::open(request.runs, seams.clock);
  if (!store) return store.error();
  const auto record = store->find(request.resume);
  if (!record) return record.error();
  const fs::path file = record->directory / "manifest.yaml";
  const auto text = seams.files.read(file);
  if (!text) return text.error();
  const auto manifest = parse_yaml(*text, file.string());
  if (!manifest) return manifest.error();
  const auto known = facts::load_facts(seams.files, request.project);
  if (!known) return known.error();
  auto resolved = catalog::resolve(*manifest, record->case_name, "", request.overrides, *known);
  if (resolved) {
    resolved->file = file;
    resolved->profile = record->profile;
  }
  return resolved;
}

}  // namespace

std::optional<Prepared> prepare(const RunRequest& request, const Seams& seams, Refusal& error) {
  Prepared prepared;
  auto resolved = request.resume.empty()
                      ? catalog::load_case(seams.files, request.project, request.case_name,
                                           request.profile, request.overrides)
                      : case_of_run(request, seams);
  if (!resolved) {
    error = {resolved.findings(), kExitBadInput};
    return std::nullopt;
  }
  prepared.resolved = std::move(*resolved);
  prepared.machine = this_machine();
  if (request.threads > 0 && !prepared.resolved.values.resources.threads) {
    prepared.resolved.values.resources.threads = request.threads;
  }
  const auto said = prepared.resolved.origins.find("comm_timeout");
  const bool by_default = said == prepared.resolved.origins.end() ||
                          said->second.kind == catalog::Origin::Kind::kDefault;
  if (request.comm_timeout > 0 && by_default) {
    prepared.resolved.values.comm_timeout = request.comm_timeout;
  }
  const std::string& name = prepared.resolved.values.data.name;
  if (prepared.resolved.values.data.path.empty() && !name.empty()) {
    const auto known = facts::load_facts(seams.files, request.project);
    if (!known) {
      error = {known.findings(), kExitBadInput};
      return std::nullopt;
    }
    auto dataset = facts::find_dataset(known->datasets, name);
    if (!dataset) {
      error = {dataset.findings(), kExitBadInput};
      return std::nullopt;
    }
    prepared.dataset = std::move(*dataset);
  }
  return prepared;
}

Result<Job> job_of(const RunRequest& request, const Prepared& prepared, const std::string& id,
                   const fs::path& directory) {
  Place place;
  place.run_id = id;
  place.run_directory = directory;
  place.project = request.project;
  place.caller = request.caller;
  place.trainer = request.trainer.empty() ? "muster-train" : request.trainer.string();
  if (prepared.dataset) place.data = dataset_path(request.project, *prepared.dataset);
  return plan_job(prepared.resolved, place, request.target, prepared.machine);
}

Result<Job> draft(const RunRequest& request, const Prepared& prepared) {
  const fs::path directory =
      request.run_directory.empty() ? request.runs / "RUN" : request.run_directory;
  return job_of(request, prepared, "RUN", directory);
}

Result<Rendered> dry_run(const RunRequest& request, const Prepared& prepared) {
  const auto job = draft(request, prepared);
  if (!job) return job.error();
  return render(*job, request.target, prepared.machine);
}

}  // namespace muster::launch
