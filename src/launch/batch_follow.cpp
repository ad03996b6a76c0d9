#include "launch/batch_follow.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "launch/poll.h"

namespace muster::launch {
namespace {

using std::chrono::milliseconds;
using End = runs::LauncherResult::End;

constexpr const char* kBatchLogGroup = "/aws/batch/job";
constexpr int kMostJobsAtOnce = 100;  ///< of describe-jobs
constexpr int kMostPagesAtOnce = 20;  ///< of one node's log in one look

/// Of the jobs that Batch knows among `ids`.
Result<std::vector<BatchStatus>> describe_jobs(const std::vector<std::string>& ids,
                                               const BatchJob& job, ProcessRunner& processes) {
  std::vector<std::string> argv = {"aws", "batch", "describe-jobs", "--jobs"};
  argv.insert(argv.end(), ids.begin(), ids.end());
  const auto text = ask_aws(processes, std::move(argv), job.definition);
  if (!text) return text.error();
  return parse_jobs(*text);
}

bool is_missing_log(const Failure& failure) {
  return failure.findings.front().message.find("ResourceNotFoundException") != std::string::npos;
}

class BatchFollower {
 public:
  BatchFollower(const BatchJob& job, ProcessRunner& processes, Clock& clock,
                const BatchFollowOptions& options, const Tick& tick, const OnBatchStatus& on_status,
                BatchLogs& logs)
      : job_(job),
        processes_(processes),
        clock_(clock),
        options_(options),
        poll_(clock, tick, options.shortest_poll, options.longest_poll),
        on_status_(on_status),
        logs_(logs) {}

  runs::LauncherResult follow() {
    auto heard = clock_.steady();
    auto starting = heard;  // when it was last seen otherwise
    while (true) {
      const auto status = look_at_batch(job_, processes_);
      const auto now = clock_.steady();
      if (!status) {
        if (now - heard >= options_.unreachable) return out_of_reach(status.findings());
      } else {
        heard = now;
        if (report(last_, *status, on_status_)) poll_.restart();
        const BatchPhase phase = status->phase();
        if (phase == BatchPhase::kRunning || phase == BatchPhase::kEnded) read_logs(*status);
        if (phase == BatchPhase::kEnded) return how_it_ended(*status);
        if (phase != BatchPhase::kStarting) starting = now;
        if (now - starting >= options_.start_limit) return never_started(*status);
      }
      if (const Stop stop = poll_.wait(); stop != Stop::kNo) return end_it(stop);
    }
  }

 private:
  runs::LauncherResult out_of_reach(const Findings& why) const {
    return {End::kUnknown,
            {},
            fmt::format("Batch job {} was left alone: for {} s AWS could not be asked ({})",
                        job_.id, options_.unreachable.count(), aws_words(why))};
  }

  /// The nodes of a multi-node job are jobs of their own; a plain job is its only node.
  void look_at_nodes(const BatchStatus& job) {
    if (job.nodes <= 0) {
      nodes_ = {job};
      return;
    }
    std::vector<BatchStatus> nodes;
    for (int from = 0; from < job.nodes; from += kMostJobsAtOnce) {
      std::vector<std::string> ids;
      for (int i = from; i < std::min(job.nodes, from + kMostJobsAtOnce); ++i)
        ids.push_back(fmt::format("{}#{}", job_.id, i));
      auto some = describe_jobs(ids, job_, processes_);
      if (!some) {
        trouble_ = aws_words(some.findings());
        return;
      }
      nodes.insert(nodes.end(), some->begin(), some->end());
    }
    // An emulator may know only the job itself.
    if (nodes.empty()) nodes = {job};
    nodes_ = std::move(nodes);
  }

  void read_logs(const BatchStatus& job) {
    look_at_nodes(job);
    for (const BatchStatus& node : nodes_) {
      if (node.log_stream.empty()) continue;
      const auto hash = node.id.rfind('#');
      const int index = hash == std::string::npos ? 0 : std::atoi(node.id.c_str() + hash + 1);
      read_log(index, node.log_stream);
    }
  }

  void read_log(int node, const std::string& name) {
    std::string& token = tokens_[name];
    for (int page = 0; page < kMostPagesAtOnce; ++page) {
      std::vector<std::string> argv = {"aws",
                                       "logs",
                                       "get-log-events",
                                       "--log-group-name",
                                       kBatchLogGroup,
                                       "--log-stream-name",
                                       name,
                                       "--start-from-head"};
      if (!token.empty()) {
        argv.emplace_back("--next-token");
        argv.push_back(token);
      }
      const auto text = ask_aws(processes_, std::move(argv), job_.definition);
      const auto read = text ? parse_log_events(*text) : Result<LogPage>(text.error());
      if (!read) {
        // A stream is made with its first line.
        if (!is_missing_log(read.error())) trouble_ = aws_words(read.findings());
        return;
      }
      if (auto kept = logs_.append(node, read->lines); !kept) trouble_ = aws_words(kept.findings());
      if (read->next.empty() || read->next == token) return;
      token = read->next;
      if (read->lines.empty()) return;
    }
  }

  /// CloudWatch has the last lines a little later than Batch has the end.
  runs::LauncherResult how_it_ended(const BatchStatus& status) {
    const auto until = clock_.steady() + options_.last_logs;
    while (!logs_.all_ended() && clock_.steady() < until) {
      clock_.sleep_for(options_.shortest_poll);
      if (interrupted()) break;
      read_logs(status);
    }
    auto result = conclude_batch(status, nodes_);
    if (!trouble_.empty()) result.detail += "; logs: " + trouble_;
    return result;
  }

  runs::LauncherResult never_started(const BatchStatus& status) {
    const auto ended = terminate_batch(job_, processes_);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.start_limit);
    runs::LauncherResult result{
        End::kStartFailed,
        {},
        fmt::format("Batch job {} did not start within {} s: {}{}", job_.id, seconds.count(),
                    describe(status), status.reason.empty() ? ", and Batch says no reason" : "")};
    if (!ended) result.detail += "; it could not be ended: " + aws_words(ended.findings());
    return result;
  }

  runs::LauncherResult end_it(Stop stop) {
    if (stop == Stop::kInterrupted) forget_interrupts();  // or aws itself would be ended at once
    const auto terminated = terminate_batch(job_, processes_);
    const auto until = clock_.steady() + options_.cancelled_within;
    bool ended = false;
    while (terminated && !ended && clock_.steady() < until && !interrupted()) {
      const auto status = look_at_batch(job_, processes_);
      ended = status && status->phase() == BatchPhase::kEnded;
      if (ended) {
        read_logs(*status);
        report(last_, *status, on_status_);
      } else {
        clock_.sleep_for(options_.shortest_poll);
      }
    }
    runs::LauncherResult result;
    result.end = end_of(stop);
    result.detail = terminated ? fmt::format("Batch job {} was ended by muster", job_.id)
                               : fmt::format("Batch job {} could not be ended: {}", job_.id,
                                             aws_words(terminated.findings()));
    if (terminated && !ended)
      result.detail +=
          fmt::format("; it was still there {} s later", options_.cancelled_within.count());
    return result;
  }

  const BatchJob& job_;
  ProcessRunner& processes_;
  Clock& clock_;
  const BatchFollowOptions& options_;
  Poll poll_;
  const OnBatchStatus& on_status_;
  BatchLogs& logs_;
  std::optional<BatchStatus> last_;
  std::vector<BatchStatus> nodes_;
  std::map<std::string, std::string> tokens_;  ///< of the next page, by stream
  std::string trouble_;
};

}  // namespace

Result<std::string> register_batch(const std::string& definition, ProcessRunner& processes) {
  const auto text = ask_aws(
      processes, {"aws", "batch", "register-job-definition", "--cli-input-json", definition});
  if (!text) return text.error();
  return parse_registered(*text);
}

Result<BatchJob> submit_batch(std::vector<std::string> argv, const std::string& definition,
                              ProcessRunner& processes) {
  argv.push_back("--job-definition=" + definition);
  const auto text = ask_aws(processes, std::move(argv), definition);
  if (!text) return text.error();
  auto id = parse_submitted(*text);
  if (!id) return id.error();
  return BatchJob{std::move(*id), definition};
}

runs::LauncherResult follow_batch(const BatchJob& job, ProcessRunner& processes, Clock& clock,
                                  const BatchFollowOptions& options, const Tick& tick,
                                  const OnBatchStatus& on_status, BatchLogs& logs) {
  return BatchFollower(job, processes, clock, options, tick, on_status, logs).follow();
}

Result<BatchStatus> look_at_batch(const BatchJob& job, ProcessRunner& processes) {
  const auto jobs = describe_jobs({job.id}, job, processes);
  if (!jobs) return jobs.error();
  const auto found = std::find_if(jobs->begin(), jobs->end(),
                                  [&](const BatchStatus& one) { return one.id == job.id; });
  if (found == jobs->end())
    return failure("batch-job-gone", "Batch does not know job " + job.id + " (any more)",
                   "it keeps ended jobs for a week; is it another account?");
  return *found;
}

Result<void> terminate_batch(const BatchJob& job, ProcessRunner& processes) {
  const auto text =
      ask_aws(processes,
              {"aws", "batch", "terminate-job", "--job-id", job.id, "--reason", "ended by muster"},
              job.definition);
  if (!text) return text.error();
  return {};
}

Result<void> deregister_batch(const std::string& definition, ProcessRunner& processes) {
  const auto text = ask_aws(
      processes, {"aws", "batch", "deregister-job-definition", "--job-definition", definition},
      definition);
  if (!text) return text.error();
  return {};
}

}  // namespace muster::launch
