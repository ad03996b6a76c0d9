#include "launch/prepare.h"

#include "base/document.h"
#include "facts/facts.h"
#include "launch/dataset.h"
#include "launch/foreign.h"
#include "launch/key_use.h"
#include "launch/shell.h"
#include "launch/variables.h"
#include "launch/workload.h"
#include "runs/profile.h"
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

/// The data set that the case names. A name that the facts don't know may be one of a hub, which a
/// foreign program asks itself.
std::optional<Refusal> find_data(Prepared& prepared) {
  const auto& data = prepared.resolved.values.data;
  const bool foreign = is_foreign(prepared.resolved);
  if (!foreign && (!data.path.empty() || data.name.empty())) return std::nullopt;
  auto dataset = facts::find_dataset(prepared.known.datasets, data.name);
  if (dataset) {
    prepared.dataset = std::move(*dataset);
  } else if (!foreign) {
    return Refusal{dataset.findings(), kExitBadInput};
  }
  return std::nullopt;
}

std::optional<Refusal> prepare_profiling(const RunRequest& request, const Seams& seams,
                                         Prepared& prepared) {
  if (request.profiling.tool == Profiling::Tool::kNone) return std::nullopt;
  Findings findings = check_profiling(request.profiling, prepared.resolved, request.target);
  if (has_errors(findings)) return Refusal{std::move(findings), kExitBadInput};
  auto known = facts::load_nsight(seams.files, request.project);
  if (!known) return Refusal{known.findings(), kExitBadInput};
  prepared.nsight = std::move(*known);
  return std::nullopt;
}

/// What a native job does besides, to be profiled.
void profile_job(const RunRequest& request, const Prepared& prepared, Job& job) {
  const std::string folder = (job.run_directory / runs::kProfileFolder).string();
  if (request.profiling.tool == Profiling::Tool::kNative) {
    job.program.insert(job.program.end(), {"--trace", folder});
    if (!request.profiling.steps.empty())
      job.program.insert(job.program.end(), {"--trace-steps", request.profiling.steps});
  } else if (request.profiling.tool == Profiling::Tool::kNsys) {
    for (const Word& word : nsys_words(request.profiling, prepared.nsight, shell_quote(folder),
                                       object_name_of(job.case_name), false))
      job.profiler.push_back(word.text);
  }
}

Result<Plan> plan_foreign(const RunRequest& request, const Prepared& prepared,
                          const std::string& id, const fs::path& directory) {
  if (!prepared.resolved.values.steps.empty()) {
    return Failure(error_at(position_of(prepared.resolved, "steps"), "run-steps",
                            "muster run starts the case's own job and none of its steps",
                            "muster render case prints them all; --set steps=null once their "
                            "output is there"));
  }
  ForeignPlace place;
  place.run_id = id;
  place.run_directory = directory;
  place.project = request.project;
  place.venv = prepared.python.directory;
  if (prepared.dataset) place.data = dataset_path(request.project, *prepared.dataset);
  if (const auto queue = request.environment.find("MUSTER_JOB_QUEUE");
      queue != request.environment.end())
    place.job_queue = queue->second;
  const Ground ground{directory.string(), request.project.string(), place.data.string(),
                      prepared.machine.cores};
  auto workload = plan_workload(prepared.resolved, request.target, prepared.known, id, ground);
  if (!workload) return workload.error();
  place.profiler = profiler_of(request.profiling, prepared.nsight, *workload);
  workload->node_folder = nsys_folder(request.profiling);
  Plan plan;
  // Containers read secrets from where the target keeps them; what their images' names leave open
  // the submitter says.
  if (!shares_files(request.target)) {
    plan.variables = variables_of(workload->image);
    workload->image = with_variables(workload->image, request.environment);
  } else {
    for (const SecretVariable& secret : workload->secrets) plan.secrets.push_back(secret.env);
  }
  auto rendered = render_foreign(std::move(*workload), prepared.resolved, request.target, place,
                                 prepared.machine);
  if (!rendered) return rendered.error();
  plan.rendered = std::move(*rendered);
  return plan;
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
  auto known = facts::load_facts(seams.files, request.project);
  if (!known) {
    error = {known.findings(), kExitBadInput};
    return std::nullopt;
  }
  prepared.known = std::move(*known);
  if (auto refused = prepare_profiling(request, seams, prepared)) {
    error = std::move(*refused);
    return std::nullopt;
  }
  const bool foreign = is_foreign(prepared.resolved);
  if (foreign && !shares_files(request.target)) return prepared;  // an image has what it needs
  if (auto refused = find_data(prepared)) {
    error = std::move(*refused);
    return std::nullopt;
  }
  if (foreign) {
    prepared.python = python_environment(request.venv, prepared.resolved.file, request.project,
                                         seams.files, seams.processes);
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
  auto job = plan_job(prepared.resolved, place, request.target, prepared.machine, prepared.known);
  if (job) profile_job(request, prepared, *job);
  return job;
}

Result<Job> draft(const RunRequest& request, const Prepared& prepared) {
  const fs::path directory =
      request.run_directory.empty() ? request.runs / "RUN" : request.run_directory;
  return job_of(request, prepared, "RUN", directory);
}

Result<Plan> plan_run(const RunRequest& request, const Prepared& prepared, const std::string& id,
                      const fs::path& directory) {
  if (is_foreign(prepared.resolved)) return plan_foreign(request, prepared, id, directory);
  const auto job = job_of(request, prepared, id, directory);
  if (!job) return job.error();
  auto rendered = render(*job, request.target, prepared.machine);
  if (!rendered) return rendered.error();
  return Plan{std::move(*rendered), job->secrets, {}};
}

Result<Plan> draft_plan(const RunRequest& request, const Prepared& prepared) {
  const fs::path directory =
      request.run_directory.empty() ? request.runs / "RUN" : request.run_directory;
  return plan_run(request, prepared, "RUN", directory);
}

Result<Rendered> dry_run(const RunRequest& request, const Prepared& prepared) {
  auto plan = draft_plan(request, prepared);
  if (!plan) return plan.error();
  return std::move(plan->rendered);
}

}  // namespace muster::launch
