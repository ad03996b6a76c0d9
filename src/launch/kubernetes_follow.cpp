#include "launch/kubernetes_follow.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/poll.h"

namespace muster::launch {
namespace {

using std::chrono::milliseconds;
using End = runs::LauncherResult::End;

constexpr milliseconds kQuestion{30'000};
constexpr std::chrono::seconds kDeletion{90};
constexpr const char* kUnreachable = "kubernetes-unreachable";  ///< it gave no answer in time
/// Answers of `kubectl logs` overlap by this much, for lines that came late.
constexpr std::chrono::seconds kOverlap{30};

std::string namespace_option(const KubeJob& job) {
  return "--namespace=" + job.name_space;
}

std::string in_seconds(milliseconds time) {
  return fmt::format("{} s", time.count() / 1000);
}

}  // namespace

Result<ProcessResult> KubeCluster::ask(const std::vector<std::string>& words, milliseconds limit,
                                       const std::string& input) const {
  Command command;
  command.argv = kubectl_;
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  command.input = input;
  command.time_limit = limit;
  command.grace = milliseconds(1000);
  auto result = processes_.run(command);
  if (!result) return result;
  if (result->timed_out) {
    return failure(kUnreachable, fmt::format("kubectl {} did not answer within {}", words.front(),
                                             in_seconds(limit)));
  }
  return result;
}

Result<std::string> KubeCluster::answer(const std::vector<std::string>& words, milliseconds limit,
                                        const std::string& input) const {
  auto result = ask(words, limit, input);
  if (!result) return result.error();
  if (result->exit_code == 0) return std::move(result->out);
  const std::string said = kube_error(result->err);
  return failure(
      "kubernetes-" + words.front(),
      fmt::format("kubectl {}: {}", words.front(),
                  said.empty() ? fmt::format("exited with {}", result->exit_code) : said),
      "kubectl cluster-info shows whether the cluster can be reached");
}

std::string KubeCluster::current_context() const {
  const auto said = ask({"config", "current-context"}, kQuestion);
  if (!said || said->exit_code != 0) return {};
  return said->out.substr(0, said->out.find_first_of("\r\n"));
}

Result<void> KubeCluster::create(const std::vector<std::string>& documents) const {
  std::string made;
  const auto undo = [&] {
    if (made.empty()) return;
    // Best effort: the refusal is what has to be told.
    (void)answer({"delete", "--ignore-not-found", "--wait=false", "-f", "-"}, kQuestion, made);
  };
  const auto add = [&](const std::string& document) {
    made += (made.empty() ? "" : "---\n") + document;
  };
  for (const std::string& document : documents) {
    // One after the other, since what is checked may name what was made before it.
    for (const bool dry : {true, false}) {
      std::vector<std::string> words = {"create", "--validate=true", "-f", "-"};
      if (dry) words.emplace_back("--dry-run=server");
      auto said = answer(words, kQuestion, document);
      if (said) continue;
      // Without an answer it may have been made all the same.
      if (!dry && said.findings().front().rule == kUnreachable) add(document);
      undo();
      return said.error();
    }
    add(document);
  }
  return {};
}

Result<std::optional<KubeLook>> KubeCluster::look(const KubeJob& job) const {
  const auto said =
      ask({"get", job.resource, job.name, namespace_option(job), "--output=json"}, kQuestion);
  if (!said) return said.error();
  if (said->exit_code != 0) {
    if (says_not_found(said->err)) return std::optional<KubeLook>();
    return failure("kubernetes-get", "kubectl get: " + kube_error(said->err),
                   "kubectl cluster-info shows whether the cluster can be reached");
  }
  KubeLook look;
  auto object = parse_kube_object(said->out);
  if (!object) return object.error();
  look.object = std::move(*object);
  for (const std::string& selector : job.selectors) {
    const auto list =
        answer({"get", "pods", namespace_option(job), "--selector=" + selector, "--output=json"},
               kQuestion);
    if (!list) return list.error();
    auto pods = parse_kube_pods(*list);
    if (!pods) return pods.error();
    look.pods.insert(look.pods.end(), pods->begin(), pods->end());
  }
  return std::optional(std::move(look));
}

Result<std::string> KubeCluster::logs(const KubeJob& job, std::chrono::seconds since) const {
  std::string text;
  for (const std::string& selector : job.selectors) {
    std::vector<std::string> words = {"logs", namespace_option(job), "--selector=" + selector};
    words.insert(words.end(), kube_log_options().begin(), kube_log_options().end());
    if (since.count() > 0) words.push_back(fmt::format("--since={}s", since.count()));
    auto said = answer(words, kQuestion);
    if (!said) return said;
    text += *said;
  }
  return text;
}

Result<std::string> KubeCluster::previous_logs(const KubeJob& job, const std::string& pod) const {
  std::vector<std::string> words = {"logs", "pod/" + pod, namespace_option(job), "--previous"};
  for (const std::string& option : kube_log_options()) {
    if (!option.starts_with("--max-log-requests")) words.push_back(option);
  }
  return answer(words, kQuestion);
}

std::vector<std::string> KubeCluster::warnings(const KubeJob& job) const {
  const auto said = answer({"get", "events", namespace_option(job),
                            "--field-selector=involvedObject.name=" + job.name, "--output=json"},
                           kQuestion);
  return said ? parse_kube_warnings(*said) : std::vector<std::string>();
}

Result<void> KubeCluster::remove(const KubeJob& job, const std::filesystem::path& file) const {
  auto said = answer({"delete", "--ignore-not-found", "--cascade=foreground", "--wait=true",
                      fmt::format("--timeout={}s", kDeletion.count()), "-f", file.string()},
                     kDeletion + std::chrono::seconds(10));
  if (said) return {};
  std::string left;
  if (const auto look = this->look(job); look && *look)
    left = describe(job, (*look)->object, (*look)->pods);
  Finding finding = said.findings().front();
  if (!left.empty()) finding.message += "; left: " + left;
  finding.hint =
      fmt::format("kubectl delete --namespace={} {} {}", job.name_space, job.resource, job.name);
  return Failure(finding);
}

bool all_up(const KubeJob& job, const std::vector<KubePod>& pods) {
  const auto up =
      std::count_if(pods.begin(), pods.end(), [](const KubePod& pod) { return pod.up; });
  return up >= job.pods;
}

std::vector<std::string> documents_of(const std::string& text) {
  constexpr std::string_view kMark = "\n---\n";
  std::vector<std::string> documents;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t mark = text.find(kMark, start);
    const std::size_t end = mark == std::string::npos ? text.size() : mark + 1;
    documents.push_back(text.substr(start, end - start));
    start = mark == std::string::npos ? end : mark + kMark.size();
  }
  return documents;
}

namespace {

class KubeFollower {
 public:
  KubeFollower(const KubeJob& job, const KubeCluster& cluster, const std::filesystem::path& logs,
               FileSystem& files, Clock& clock, const KubeFollowOptions& options, const Tick& tick,
               const OnKubeLook& on_look)
      : job_(job),
        cluster_(cluster),
        folder_(logs),
        files_(files),
        clock_(clock),
        options_(options),
        poll_(clock, tick, options.shortest_poll, options.longest_poll),
        on_look_(on_look) {}

  runs::LauncherResult follow() {
    auto heard = clock_.steady();
    auto complete = heard;  // when all pods were up, or the queue had not let it in
    while (true) {
      const auto look = cluster_.look(job_);
      const auto now = clock_.steady();
      if (look) {
        heard = now;
        if (!*look) {
          return {End::kCancelled,
                  {},
                  fmt::format("{} {} was deleted by somebody else", job_.kind, job_.name)};
        }
        if (report(**look)) poll_.restart();
        collect(now);
        if (last_->object.phase == KubePhase::kSucceeded ||
            last_->object.phase == KubePhase::kFailed)
          return how_it_ended();
        if (last_->object.phase == KubePhase::kSuspended || all_up(job_, last_->pods))
          complete = now;
        if (now - complete >= options_.start_limit || hopeless())
          return start_failed(now - complete);
      } else if (now - heard >= options_.unreachable) {
        return {End::kUnknown,
                {},
                fmt::format("{} {} was left alone: for {} s the cluster could not be asked ({})",
                            job_.kind, job_.name, options_.unreachable.count(),
                            look.findings().front().message)};
      }
      if (const Stop stop = poll_.wait(); stop != Stop::kNo) return stopped(stop);
    }
  }

 private:
  /// True when it is news.
  bool report(const KubeLook& look) {
    return launch::report(last_, look, [&](const KubeLook& news) {
      keep_previous_logs(news);
      if (on_look_) on_look_(news);
    });
  }

  void keep_previous_logs(const KubeLook& look) {
    // What a container said before it was started again is kept by Kubernetes until the next time.
    for (const KubePod& pod : look.pods) {
      int& known = restarts_[pod.name];
      if (pod.restarts > known) {
        if (const auto text = cluster_.previous_logs(job_, pod.name)) keep(*text);
      }
      known = pod.restarts;
    }
  }

  void keep(const std::string& answer) {
    for (const auto& [name, text] : logs_.take(answer)) {
      if (const auto kept = files_.append(folder_ / name, text); !kept && trouble_.empty())
        trouble_ = kept.findings().front().message;
    }
  }

  void collect(std::chrono::steady_clock::time_point now) {
    std::chrono::seconds since{0};
    if (collected_)
      since = std::chrono::duration_cast<std::chrono::seconds>(now - *collected_) + kOverlap;
    const auto text = cluster_.logs(job_, since);
    if (!text) {
      log_trouble_ = text.findings().front().message;
      return;
    }
    log_trouble_.clear();
    collected_ = now;
    keep(*text);
  }

  bool hopeless() const {
    return std::any_of(last_->pods.begin(), last_->pods.end(),
                       [](const KubePod& pod) { return pod.hopeless; });
  }

  runs::LauncherResult start_failed(std::chrono::steady_clock::duration waited) {
    std::string detail = describe(job_, last_->object, last_->pods);
    const auto missing = job_.pods - static_cast<int>(last_->pods.size());
    if (missing > 0) {
      detail += fmt::format("; {} {} not made", missing, missing == 1 ? "pod was" : "pods were");
      const auto warnings = cluster_.warnings(job_);
      if (!warnings.empty()) {
        detail += fmt::format(": {}", fmt::join(warnings, "; "));
      } else if (last_->object.state.empty()) {
        detail += fmt::format(": nothing in the cluster looks after a {}", job_.kind);
      }
    }
    return {
        End::kStartFailed,
        {},
        fmt::format("{}: {}",
                    hopeless()
                        ? "no waiting mends it"
                        : fmt::format("waited {}",
                                      in_seconds(std::chrono::duration_cast<milliseconds>(waited))),
                    detail)};
  }

  runs::LauncherResult with_trouble(runs::LauncherResult result) const {
    if (!log_trouble_.empty()) result.detail += "; its logs could not be read: " + log_trouble_;
    if (!trouble_.empty()) result.detail += "; its logs could not be kept: " + trouble_;
    return result;
  }

  /// The pods' own ends may come a little after the object's.
  runs::LauncherResult how_it_ended() {
    constexpr int kTries = 5;
    for (int i = 0; i < kTries; ++i) {
      const bool ended = std::all_of(
          last_->pods.begin(), last_->pods.end(),
          [](const KubePod& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; });
      if (ended) break;
      clock_.sleep_for(options_.shortest_poll);
      if (const auto look = cluster_.look(job_); look && *look && !(*look)->pods.empty())
        report(**look);
    }
    collect(clock_.steady());
    return with_trouble(conclude(job_, last_->object, last_->pods));
  }

  runs::LauncherResult stopped(Stop stop) {
    if (stop == Stop::kInterrupted)
      forget_interrupts();  // or kubectl itself would be ended at once
    if (last_) collect(clock_.steady());
    runs::LauncherResult result;
    result.end = end_of(stop);
    if (last_) result.detail = describe(job_, last_->object, last_->pods);
    return with_trouble(result);
  }

  const KubeJob& job_;
  const KubeCluster& cluster_;
  std::filesystem::path folder_;
  FileSystem& files_;
  Clock& clock_;
  const KubeFollowOptions& options_;
  Poll poll_;
  const OnKubeLook& on_look_;
  std::optional<KubeLook> last_;
  KubeLogs logs_;
  std::map<std::string, int> restarts_;
  std::optional<std::chrono::steady_clock::time_point> collected_;
  std::string trouble_, log_trouble_;
};

}  // namespace

runs::LauncherResult follow_kubernetes(const KubeJob& job, const KubeCluster& cluster,
                                       const std::filesystem::path& logs, FileSystem& files,
                                       Clock& clock, const KubeFollowOptions& options,
                                       const Tick& tick, const OnKubeLook& on_look) {
  return KubeFollower(job, cluster, logs, files, clock, options, tick, on_look).follow();
}

}  // namespace muster::launch
