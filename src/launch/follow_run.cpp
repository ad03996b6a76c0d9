#include "launch/follow_run.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "launch/foreign.h"
#include "launch/log_follow.h"
#include "launch/submission.h"
#include "launch/watch.h"

namespace muster::launch {
namespace {

using std::chrono::milliseconds;
using End = runs::LauncherResult::End;

milliseconds to_milliseconds(double seconds) {
  return milliseconds(static_cast<long long>(seconds * 1000));
}

/// The logs to read a foreign run from; nothing for a native one, whose ranks write events.
Result<std::unique_ptr<LogFollow>> logs_of(const RunRequest& request, const Prepared& prepared,
                                           const runs::Run& run, const Seams& seams) {
  if (!is_foreign(prepared.resolved)) return std::unique_ptr<LogFollow>();
  const auto rows = facts::load_log_patterns(seams.files, request.project);
  if (!rows) return rows.error();
  const catalog::Case& values = prepared.resolved.values;
  auto patterns =
      runs::LogPatterns::make(*rows, values.identity.framework, values.identity.library);
  if (!patterns) return patterns.error();
  LogSettings settings;
  settings.world = values.topology.world();
  const auto& told = prepared.resolved.referenced;
  if (std::find(told.begin(), told.end(), "batch.seq_len") != told.end())
    settings.seq_len = values.batch.seq_len;
  if (!values.expect.pattern.empty()) {
    auto asked = Regex::compile(values.expect.pattern);
    if (!asked) return asked.error();
    settings.asked = std::move(*asked);
  }
  return std::make_unique<LogFollow>(run.directory(), std::move(*patterns), std::move(settings),
                                     seams.clock);
}

/// Looks at all that can end a run from outside, and passes on how far it is.
class Follow : public Following {
 public:
  Follow(const RunRequest& request, const Prepared& prepared, runs::Run& run, const Seams& seams,
         RunObserver& observer, std::unique_ptr<LogFollow> logs)
      : steps_(prepared.resolved.values.batch.steps),
        run_(run),
        seams_(seams),
        observer_(observer),
        watch_(run.directory(), run.record().world, seams.clock),
        logs_(std::move(logs)),
        hang_(logs_ ? prepared.resolved.values.resilience.hang : std::nullopt),
        progressed_(seams.clock.steady()),
        until_(seams.clock.steady() + limit(request, prepared)),
        // A trainer that hangs ends itself at its collectives' limit; this is for all ranks hanging
        // together.
        silence_(std::max(to_milliseconds(600),
                          to_milliseconds(5 * prepared.resolved.values.comm_timeout))) {}

  static milliseconds limit(const RunRequest& request, const Prepared& prepared) {
    // Waiting in a queue is not counted in the case's time, but it has a limit too.
    const double queue = request.target == Target::kLocal ? 0 : 24 * 3600.0;
    return to_milliseconds(
        request.time_limit.value_or(prepared.resolved.values.expect.timeout + queue));
  }

  Stop tick() override {
    if (interrupted()) return Stop::kInterrupted;
    if (seams_.clock.steady() >= until_) return Stop::kTimeLimit;
    look_at_logs();
    if (watch_.look()) observer_.standing(watch_.standing(), steps_);
    if (!running_) {
      watch_.reset();
      progressed_ = seams_.clock.steady();
    }
    if (hang_ ? stuck_for() >= stuck_limit() : watch_.silent_for() >= silence_)
      return Stop::kSilent;
    if (turn_++ % 5 == 0 && run_.cancel_requested()) return Stop::kCancelled;
    return Stop::kNo;
  }

  Result<void> keep(const runs::LauncherIds& ids) override { return run_.set_launcher(ids); }
  void say(const std::string& line) override { observer_.say(line); }
  void set_running(bool running) override { running_ = running; }

  std::string silence_words() const {
    if (hang_) {
      return fmt::format("no step was told for {} s (resilience.hang.{}): {}",
                         stuck_for().count() / 1000, stepped_ ? "period" : "start",
                         watch_.silent_ranks());
    }
    return fmt::format("no rank wrote anything for {} s: {}", watch_.silent_for().count() / 1000,
                       watch_.silent_ranks());
  }
  void last_look() {
    if (logs_) logs_->finish();
    if (watch_.look()) observer_.standing(watch_.standing(), steps_);
  }

 private:
  /// Any line of a foreign program is a sign of life, understood or not; only a step is progress.
  void look_at_logs() {
    if (!logs_) return;
    const LogFollow::News news = logs_->look();
    if (news != LogFollow::News::kNone) watch_.reset();
    if (news != LogFollow::News::kSteps) return;
    stepped_ = true;
    progressed_ = seams_.clock.steady();
  }
  milliseconds stuck_for() const {
    return std::chrono::duration_cast<milliseconds>(seams_.clock.steady() - progressed_);
  }
  milliseconds stuck_limit() const {
    return to_milliseconds(stepped_ ? hang_->period : hang_->start);
  }

  int steps_;
  runs::Run& run_;
  const Seams& seams_;
  RunObserver& observer_;
  RunWatch watch_;
  std::unique_ptr<LogFollow> logs_;
  std::optional<catalog::Hang> hang_;  ///< resilience.hang of a foreign case
  bool stepped_ = false;
  std::chrono::steady_clock::time_point progressed_;
  std::chrono::steady_clock::time_point until_;
  milliseconds silence_;
  bool running_ = true;
  unsigned turn_ = 0;
};

}  // namespace

runs::LauncherResult follow_run(const RunRequest& request, const Prepared& prepared,
                                const Rendered& rendered, runs::Run& run, const Seams& seams,
                                RunObserver& observer) {
  auto logs = logs_of(request, prepared, run, seams);
  if (!logs) return {End::kNotStarted, {}, logs.findings().front().message};
  Follow follow(request, prepared, run, seams, observer, std::move(*logs));
  if (auto kept = run.set_state(runs::RunState::kRunning); !kept) {
    return {End::kNotStarted, {}, kept.findings().front().message};
  }
  const Submitted job{rendered,
                      run.id(),
                      run.directory(),
                      request.project,
                      Follow::limit(request, prepared),
                      to_milliseconds(prepared.resolved.values.rendezvous.start_timeout)};
  runs::LauncherResult result = submission_for(request.target, seams)->run(job, follow);
  if (result.end == End::kHang) result.detail = follow.silence_words();
  follow.last_look();
  return result;
}

}  // namespace muster::launch
