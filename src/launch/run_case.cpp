#include "launch/run_case.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/output.h"
#include "base/redact.h"
#include "launch/collect.h"
#include "launch/dataset.h"
#include "launch/follow_run.h"
#include "launch/foreign.h"
#include "launch/prepare.h"
#include "launch/run_processes.h"
#include "runs/evidence.h"
#include "runs/run_store.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;

Refusal refuse(const Failure& failure, ExitCode code) {
  return {failure.findings, code};
}

/// The Debian package that has a program.
std::string package_of(const std::string& program) {
  if (program == "mpirun") return "openmpi-bin";
  if (program == "kubectl") return "kubernetes-client";
  if (program == "aws") return "awscli";
  return "slurm-client";
}

/// What a foreign case needs of this machine and can't get from it, whatever is installed.
std::optional<Refusal> unable_here(const RunRequest& request, const Prepared& prepared,
                                   const Seams& seams) {
  const auto& values = prepared.resolved.values;
  if (!is_foreign(prepared.resolved) || request.target != Target::kLocal) return std::nullopt;
  const std::string& accelerator = values.topology.accelerator;
  if (accelerator == "cpu") return std::nullopt;
  const std::string device = accelerator == "gpu" ? "/dev/nvidia" : "/dev/neuron";
  int there = 0;
  while (seams.files.exists(device + std::to_string(there))) ++there;
  const int asked = values.topology.world();
  if (there >= asked) return std::nullopt;
  return Refusal{{error_at({prepared.resolved.file.string(), 0, 0}, "run-accelerator",
                           fmt::format("the case needs {} {}{}, this machine has {}", asked,
                                       accelerator == "gpu" ? "GPU" : "Neuron device",
                                       asked == 1 ? "" : "s", there),
                           "another target, or a profile that runs on CPUs, e.g. --profile smoke")},
                 kExitUnverified};
}

/// Of the launcher: in the Python environment or in PATH.
Findings missing_on_this_machine(const RunRequest& request, const Prepared& prepared,
                                 const Plan& plan, const Seams& seams) {
  Findings missing;
  if (request.target != Target::kLocal) return missing;
  const fs::path& venv = prepared.python.directory;
  for (const std::string& program : plan.rendered.programs) {
    if (!venv.empty() && seams.files.exists(venv / "bin" / program)) continue;
    if (seams.processes.find(program)) continue;
    missing.push_back(error_at(
        {}, "run-program", fmt::format("the program {} is missing", program),
        venv.empty() ? "--venv DIR names a Python environment that has it"
                     : fmt::format("it is neither in {} nor in PATH", (venv / "bin").string())));
  }
  return missing;
}

/// On other targets only the nodes know; there a rank says so before its program starts.
std::optional<Refusal> missing_profiler(const RunRequest& request, const Seams& seams) {
  if (request.profiling.tool != Profiling::Tool::kNsys || request.target != Target::kLocal)
    return std::nullopt;
  const std::string& nsys = request.profiling.nsys;
  const bool there =
      nsys.starts_with("/") ? seams.files.exists(nsys) : seams.processes.find(nsys).has_value();
  if (there) return std::nullopt;
  return Refusal{
      {error_at({}, "run-program", fmt::format("the profiler {} is missing", nsys),
                "install Nsight Systems, or --profile-nsys PATH; --profile-with native needs "
                "nothing")},
      kExitUnverified};
}

std::optional<Refusal> missing_parts(const RunRequest& request, const Prepared& prepared,
                                     const Plan& plan, const Seams& seams) {
  if (auto refused = missing_profiler(request, seams)) return refused;
  Findings missing;
  if (is_foreign(prepared.resolved)) {
    missing = missing_on_this_machine(request, prepared, plan, seams);
  } else if (request.trainer.empty()) {
    missing.push_back(error_at({}, "run-program", "the program muster-train is not built",
                               "cmake --build build/release --target muster-train"));
  }
  for (const std::string& program : plan.rendered.programs) {
    if (is_foreign(prepared.resolved) && request.target == Target::kLocal) break;
    if (!seams.processes.find(program)) {
      missing.push_back(error_at({}, "run-program",
                                 fmt::format("the program {} is missing", program),
                                 "apt-get install " + package_of(program)));
    }
  }
  if (!missing.empty()) return Refusal{missing, kExitUnverified};

  Findings unset;
  std::vector<std::string> wanted = plan.secrets;
  wanted.insert(wanted.end(), plan.variables.begin(), plan.variables.end());
  for (const std::string& name : wanted) {
    if (request.environment.count(name) == 0) {
      unset.push_back(
          error_at({prepared.resolved.file.string(), 0, 0}, "run-secret",
                   fmt::format("the case needs the variable {}, which is not set", name),
                   fmt::format("export {}=…", name)));
    }
  }
  if (!unset.empty()) return Refusal{unset, kExitBadInput};
  return std::nullopt;
}

std::optional<Refusal> provide_data(const RunRequest& request, const Prepared& prepared,
                                    const Seams& seams, RunObserver& observer) {
  const auto& data = prepared.resolved.values.data;
  if (prepared.dataset) {
    if (!seams.files.exists(dataset_path(request.project, *prepared.dataset))) {
      observer.say("making the data set " + prepared.dataset->name);
    }
    const auto made = materialise(*prepared.dataset, request.project, seams.files, seams.processes);
    if (!made) return refuse(made.error(), interrupted() ? kExitInterrupted : kExitUnverified);
    return std::nullopt;
  }
  // What else a foreign program reads it finds itself.
  if (is_foreign(prepared.resolved)) return std::nullopt;
  const fs::path path =
      settle_path(prepared.resolved, "data.path", data.path, request.project, request.caller);
  if (seams.files.exists(path)) return std::nullopt;
  return Refusal{{error_at({path.string(), 0, 0}, "run-data", "the input is not there",
                           "data.path names a UTF-8 text or a directory of token shards")},
                 kExitBadInput};
}

/// Everything that says what was asked, in place before anything is started.
Result<void> write_request(const RunRequest& request, const Prepared& prepared,
                           const Rendered& rendered, const Redactor& redactor,
                           const fs::path& directory, const Seams& seams) {
  for (const char* folder : {"logs", "metrics", "out"}) {
    if (auto made = seams.files.make_directories(directory / folder); !made) return made;
  }
  if (auto removed = seams.files.remove_all(directory / "logs/job.pid"); !removed) return removed;
  const auto keep = [&](const char* name, std::string_view content) {
    return seams.files.write(directory / name, redactor.redact(content));
  };
  if (auto written = keep("manifest.yaml", catalog::to_yaml(prepared.resolved)); !written) {
    return written;
  }
  for (const RenderedFile& file : rendered.files) {
    if (auto written = seams.files.write(directory / file.path, file.content, file.executable);
        !written)
      return written;
  }
  nlohmann::ordered_json command;
  command["schema_version"] = 1;
  command["muster"] = request.command;
  command["submitted"] = rendered.command;
  command["directory"] = request.project.string();
  command["target"] = to_string(request.target);
  return keep("command.json", json_text(command));
}

Result<runs::Run> make_run(const RunRequest& request, const Prepared& prepared,
                           runs::RunStore& store) {
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

/// Knows what no record may hold: the values of the environment's secret variables, and of those
/// that the case hands on.
Redactor redactor_for(const RunRequest& request, const Plan& plan) {
  Redactor redactor;
  redactor.add_environment(request.environment);
  for (const std::string& name : plan.secrets) {
    const auto found = request.environment.find(name);
    if (found != request.environment.end()) redactor.add_secret(found->second);
  }
  return redactor;
}

/// A run whose follower was killed may still have processes: two of a kind would write into one
/// directory.
std::optional<Refusal> still_alive(const std::string& id) {
  const auto processes = processes_of_run(id);
  if (processes.empty()) return std::nullopt;
  return Refusal{
      {error_at(
          {}, "run-alive",
          fmt::format("run {} still has {} process{} on this machine, the first is {}", id,
                      processes.size(), processes.size() == 1 ? "" : "es", processes.front().pid),
          "muster cancel " + id)},
      kExitBadInput};
}

RunOutcome refused(Refusal refusal) {
  RunOutcome outcome;
  outcome.code = refusal.code;
  outcome.refusal = std::move(refusal);
  return outcome;
}

}  // namespace

RunOutcome run_case(const RunRequest& request, const Prepared& prepared, const Seams& seams,
                    RunObserver& observer) {
  if (auto unable = unable_here(request, prepared, seams)) return refused(*unable);
  const auto sketch = draft_plan(request, prepared);
  if (!sketch) return refused(refuse(sketch.error(), kExitBadInput));
  if (is_foreign(prepared.resolved) && shares_files(request.target)) {
    const auto say = [&](const std::string& line) { observer.say(line); };
    if (auto made = provide(prepared.python, seams.files, seams.processes, say); !made)
      return refused(refuse(made.error(), interrupted() ? kExitInterrupted : kExitUnverified));
  }
  if (auto missing = missing_parts(request, prepared, *sketch, seams)) return refused(*missing);
  if (auto missing = provide_data(request, prepared, seams, observer)) return refused(*missing);

  auto store = runs::RunStore::open(request.runs, seams.clock);
  if (!store) return refused(refuse(store.error(), kExitInternal));
  auto run = make_run(request, prepared, *store);
  if (!run) return refused(refuse(run.error(), kExitBadInput));
  if (auto alive = still_alive(run->id())) return refused(*alive);
  observer.say(fmt::format("run {}: {} on {}, {} rank{}", run->id(), prepared.resolved.values.name,
                           to_string(request.target), run->record().world,
                           run->record().world == 1 ? "" : "s"));

  const auto abandon = [&](const Failure& failure, ExitCode code) {
    // Best effort: what kept the run from starting may also keep its record from being written.
    (void)run->set_state(runs::RunState::kUnknown, failure.findings.front().message);
    return refused(refuse(failure, code));
  };
  const auto plan = plan_run(request, prepared, run->id(), run->directory());
  if (!plan) return abandon(plan.error(), kExitBadInput);
  const Redactor redactor = redactor_for(request, *plan);
  const auto written =
      write_request(request, prepared, plan->rendered, redactor, run->directory(), seams);
  if (!written) return abandon(written.error(), kExitInternal);
  const auto evidence = runs::write_evidence(run->directory(), {});
  if (!evidence) return abandon(evidence.error(), kExitInternal);
  const runs::LauncherResult launched =
      follow_run(request, prepared, plan->rendered, *run, seams, observer);
  return collect(prepared, launched, *run, redactor, seams, request.bench_judge);
}

}  // namespace muster::launch
