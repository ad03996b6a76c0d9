#include "launch/run_case.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/output.h"
#include "base/redact.h"
#include "facts/datasets.h"
#include "launch/collect.h"
#include "launch/dataset.h"
#include "launch/follow_run.h"
#include "runs/evidence.h"
#include "runs/run_store.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;

Refusal refuse(const Failure& failure, ExitCode code) { return {failure.findings, code}; }

Place place_of(const RunRequest& request, const Prepared& prepared, const std::string& id, const fs::path& directory) {
  Place place;
  place.run_id = id;
  place.run_directory = directory;
  place.project = request.project;
  place.caller = request.caller;
  place.trainer = request.trainer.empty() ? "muster-train" : request.trainer.string();
  if (prepared.dataset) place.data = dataset_path(request.project, *prepared.dataset);
  return place;
}

Result<Rendered> render_for(const RunRequest& request, const Prepared& prepared, const Place& place) {
  auto job = plan_job(prepared.resolved, place, request.target, prepared.machine);
  if (!job) return job.error();
  return render(*job, request.target, prepared.machine);
}

/// The Debian package that has a program.
std::string package_of(const std::string& program) {
  if (program == "mpirun") return "openmpi-bin";
  return "slurm-client";
}

std::optional<Refusal> missing_parts(const RunRequest& request, const Prepared& prepared, const Rendered& rendered,
                                     const Seams& seams) {
  Findings missing;
  if (request.trainer.empty()) {
    missing.push_back(error_at({}, "run-program", "the program muster-train is not built",
                               "cmake --build build/release --target muster-train"));
  }
  for (const std::string& program : rendered.programs) {
    if (!seams.processes.find(program)) {
      missing.push_back(error_at({}, "run-program", fmt::format("the program {} is missing", program),
                                 "apt-get install " + package_of(program)));
    }
  }
  if (!missing.empty()) return Refusal{missing, kExitUnverified};

  Findings unset;
  for (const catalog::Secret& secret : prepared.resolved.values.secrets) {
    if (request.environment.count(secret.env) == 0) {
      unset.push_back(error_at({prepared.resolved.file.string(), 0, 0}, "run-secret",
                               fmt::format("the case needs the secret {}", secret.env),
                               fmt::format("set the environment variable {}", secret.env)));
    }
  }
  if (!unset.empty()) return Refusal{unset, kExitBadInput};
  return std::nullopt;
}

std::optional<Refusal> provide_data(const RunRequest& request, const Prepared& prepared, const Seams& seams,
                                    RunObserver& observer) {
  const auto& data = prepared.resolved.values.data;
  if (prepared.dataset) {
    if (!seams.files.exists(dataset_path(request.project, *prepared.dataset))) {
      observer.say("making the data set " + prepared.dataset->name);
    }
    const auto made = materialise(*prepared.dataset, request.project, seams.files, seams.processes);
    if (!made) return refuse(made.error(), interrupted() ? kExitInterrupted : kExitUnverified);
    return std::nullopt;
  }
  const Place place = place_of(request, prepared, "", "");
  const fs::path path = settle_path(prepared.resolved, "data.path", data.path, place);
  if (seams.files.exists(path)) return std::nullopt;
  return Refusal{{error_at({path.string(), 0, 0}, "run-data", "the input is not there",
                           "data.path names a UTF-8 text or a directory of token shards")},
                 kExitBadInput};
}

/// Everything that says what was asked, in place before anything is started.
Result<void> write_request(const RunRequest& request, const Prepared& prepared, const Rendered& rendered,
                           const fs::path& directory, const Seams& seams) {
  for (const char* folder : {"logs", "metrics", "out"}) {
    if (auto made = seams.files.make_directories(directory / folder); !made) return made;
  }
  const std::string manifest = redact(catalog::to_yaml(prepared.resolved));
  if (auto written = seams.files.write(directory / "manifest.yaml", manifest); !written) return written;
  for (const RenderedFile& file : rendered.files) {
    if (auto written = seams.files.write(directory / file.path, file.content, file.executable); !written) return written;
  }
  nlohmann::ordered_json command;
  command["schema_version"] = 1;
  command["muster"] = request.command;
  command["submitted"] = rendered.command;
  command["directory"] = request.project.string();
  command["target"] = to_string(request.target);
  return seams.files.write(directory / "command.json", redact(json_text(command)));
}

Result<runs::Run> make_run(const RunRequest& request, const Prepared& prepared, runs::RunStore& store) {
  if (!request.resume.empty()) return store.reopen(request.resume);
  runs::RunSpec spec;
  spec.case_name = prepared.resolved.values.name;
  spec.target = to_string(request.target);
  spec.profile = prepared.resolved.profile;
  spec.nodes = prepared.resolved.values.topology.nodes;
  spec.world = prepared.resolved.values.topology.world();
  spec.command = request.command;
  spec.directory = request.run_directory;
  return store.create(spec);
}

RunOutcome refused(Refusal refusal) {
  RunOutcome outcome;
  outcome.code = refusal.code;
  outcome.refusal = std::move(refusal);
  return outcome;
}

}  // namespace

std::optional<Prepared> prepare(const RunRequest& request, const Seams& seams, Refusal& error) {
  Prepared prepared;
  auto resolved = catalog::load_case(seams.files, request.project, request.case_name, request.profile, request.overrides);
  if (!resolved) {
    error = refuse(resolved.error(), kExitBadInput);
    return std::nullopt;
  }
  prepared.resolved = std::move(*resolved);
  prepared.machine = this_machine();
  if (request.threads > 0 && !prepared.resolved.values.resources.threads) {
    prepared.resolved.values.resources.threads = request.threads;
  }
  const std::string& name = prepared.resolved.values.data.name;
  if (prepared.resolved.values.data.path.empty() && !name.empty()) {
    const auto datasets = facts::load_datasets(seams.files, request.project);
    if (!datasets) {
      error = refuse(datasets.error(), kExitBadInput);
      return std::nullopt;
    }
    auto dataset = facts::find_dataset(*datasets, name);
    if (!dataset) {
      error = refuse(dataset.error(), kExitBadInput);
      return std::nullopt;
    }
    prepared.dataset = std::move(*dataset);
  }
  return prepared;
}

Result<Rendered> dry_run(const RunRequest& request, const Prepared& prepared) {
  const fs::path directory = request.run_directory.empty() ? request.runs / "RUN" : request.run_directory;
  return render_for(request, prepared, place_of(request, prepared, "RUN", directory));
}

RunOutcome run_case(const RunRequest& request, const Prepared& prepared, const Seams& seams, RunObserver& observer) {
  const auto draft = dry_run(request, prepared);
  if (!draft) return refused(refuse(draft.error(), kExitBadInput));
  if (auto missing = missing_parts(request, prepared, *draft, seams)) return refused(*missing);
  if (auto missing = provide_data(request, prepared, seams, observer)) return refused(*missing);

  auto store = runs::RunStore::open(request.runs, seams.clock);
  if (!store) return refused(refuse(store.error(), kExitInternal));
  auto run = make_run(request, prepared, *store);
  if (!run) return refused(refuse(run.error(), kExitBadInput));
  observer.say(fmt::format("run {}: {} on {}, {} rank{}", run->id(), prepared.resolved.values.name,
                           to_string(request.target), run->record().world, run->record().world == 1 ? "" : "s"));

  const auto rendered =
      render_for(request, prepared, place_of(request, prepared, run->id(), run->directory()));
  if (!rendered) return refused(refuse(rendered.error(), kExitBadInput));
  if (auto written = write_request(request, prepared, *rendered, run->directory(), seams); !written) {
    return refused(refuse(written.error(), kExitInternal));
  }
  if (auto written = runs::write_evidence(run->directory(), {}); !written) {
    return refused(refuse(written.error(), kExitInternal));
  }
  const runs::LauncherResult launched = follow_run(request, prepared, *rendered, *run, seams, observer);
  return collect(prepared, launched, *run, request.environment, seams);
}

}  // namespace muster::launch
