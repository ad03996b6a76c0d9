#include "metrics/sources.h"

#include "metrics/slurm.h"

namespace muster::metrics {
namespace {

constexpr const char* kCheckpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
constexpr const char* kPodLogs = "/var/log/pods";

/// Written by the thread that reads files, which may be left behind in one.
struct Owners {
  std::mutex mutex;
  PodDevices pods;
  std::map<std::string, std::vector<std::string>> jobs;
};

CollectorState read_owners(const GpuSourceOptions& options, Owners& owners, const FileView& view) {
  CollectorState state;
  if (options.pods) {
    const auto checkpoint = view.file(kCheckpoint);
    const auto folders = view.list(kPodLogs);
    auto pods = checkpoint && folders ? parse_pods(*checkpoint, *folders, kCheckpoint)
                                      : Result<PodDevices>(failure("pods", "can't be read"));
    state.success = pods.ok();
    if (pods) {  // else those that were last known stay: a series is not to change its labels
      const std::lock_guard lock(owners.mutex);
      owners.pods = std::move(*pods);
    } else {
      ++state.unreadable;
    }
  }
  if (!options.jobs.empty()) {
    std::map<std::string, std::vector<std::string>> jobs;
    const auto names = view.list(options.jobs);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
      if (const auto text = view.file(options.jobs / name)) jobs[name] = parse_jobs(*text);
    }
    const std::lock_guard lock(owners.mutex);
    owners.jobs = std::move(jobs);
  }
  return state;
}

class GpuSource {
 public:
  explicit GpuSource(const GpuSourceOptions& options)
      : options_(options),
        reader_(options.library),
        files_(
            options.root,
            // Of its own: a read that hangs may outlive this.
            [of = options_, owners = owners_](const FileView& view, Exposition&) {
              return read_owners(of, *owners, view);
            },
            BoundedCollector::Limits()) {
    labels_.host = options.host;
    labels_.label = options.label;
    labels_.pods = options.pods;
  }

  CollectorState collect(Exposition& to) {
    CollectorState state;
    const auto reading = reader_.read(options_.limit);
    if (!reading) {
      state.present = reading.findings().front().rule != "nvml-missing";
      state.success = !state.present;
      return state;
    }
    if (options_.pods || !options_.jobs.empty()) {
      Exposition none;
      state = files_.run(none);
    }
    history_.note(*reading, std::chrono::steady_clock::now());
    {
      const std::lock_guard lock(owners_->mutex);
      labels_.pod_devices = owners_->pods;
      labels_.jobs = owners_->jobs;
    }
    collect_gpu(*reading, labels_, history_, to);
    return state;
  }

 private:
  const GpuSourceOptions options_;
  const std::shared_ptr<Owners> owners_ = std::make_shared<Owners>();
  health::NvmlReader reader_;
  BoundedCollector files_;
  GpuHistory history_;
  GpuLabels labels_;
};

/// A command's output; nothing when it failed.
std::optional<std::string> output_of(ProcessRunner& processes, std::vector<std::string> argv,
                                     std::chrono::milliseconds limit) {
  Command command;
  command.argv = std::move(argv);
  command.env = {{"LC_ALL", "C"}, {"SLURM_TIME_FORMAT", "standard"}};
  command.time_limit = limit;
  command.grace = std::chrono::milliseconds(1000);
  auto result = processes.run(command);
  if (!result || result->exit_code != 0 || result->timed_out || result->truncated)
    return std::nullopt;
  return std::move(result->out);
}

CollectorState collect_slurm(ProcessRunner& processes, std::chrono::milliseconds limit,
                             Exposition& to) {
  CollectorState state;
  if (!processes.find("scontrol")) {
    state.present = false;
    return state;
  }
  const auto ask = [&](std::vector<std::string> argv, const auto& collect) {
    const auto text = output_of(processes, std::move(argv), limit);
    if (!text) {
      state.success = false;
      ++state.unreadable;
      return;
    }
    if (const int lines = collect(*text); lines > 0) {
      state.unreadable += lines;
      state.success = false;
    }
  };
  ask(slurm_nodes_command(),
      [&](const std::string& text) { return collect_slurm_nodes(text, to); });
  // Nobody answers: the others would only wait for the same.
  if (!state.success && state.unreadable == 1 && !to.has("slurm_nodes_total")) return state;
  ask(slurm_jobs_command(), [&](const std::string& text) { return collect_slurm_jobs(text, to); });
  ask(slurm_scheduler_command(),
      [&](const std::string& text) { return collect_slurm_scheduler(text, to); });
  ask(slurm_version_command(), [&](const std::string& text) {
    collect_slurm_version(text, to);
    return 0;
  });
  return state;
}

}  // namespace

std::function<CollectorState(Exposition&)> gpu_source(const GpuSourceOptions& options) {
  const auto source = std::make_shared<GpuSource>(options);
  return [source](Exposition& to) { return source->collect(to); };
}

std::function<CollectorState(Exposition&)> slurm_source(ProcessRunner& processes,
                                                        std::chrono::milliseconds limit) {
  return [&processes, limit](Exposition& to) { return collect_slurm(processes, limit, to); };
}

}  // namespace muster::metrics
