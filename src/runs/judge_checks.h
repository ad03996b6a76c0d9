// The single checks that judge() is made of. Internal to runs/; each is pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runs/judge.h"
#include "runs/rank_view.h"

namespace muster::runs::checks {

/// What every check looks at.
struct Material {
  const Expectations& asked;
  const LauncherResult& launcher;
  std::vector<RankView> ranks;

  /// Cancelled or interrupted: what is missing then is missing because somebody ended the run.
  bool cut_short() const {
    return launcher.end == LauncherResult::End::kCancelled ||
           launcher.end == LauncherResult::End::kInterrupted;
  }
  bool wanted(int rank) const { return rank >= 0 && rank < asked.world; }
  /// The rank's events, or null when it left none.
  const RankView* find(int rank) const;
  /// Ranks of 0..world-1 that left no events.
  std::vector<int> absent() const;
  /// The lowest rank that has steps: what is the same on all ranks is read from it. Null when none
  /// has.
  const RankView* witness() const;
};

/// Collects what a check sees; the worst outcome decides, and only what led to it is told.
class Seen {
 public:
  explicit Seen(std::string name) : name_(std::move(name)) {}
  void pass(std::string what) { notes_.emplace_back(Outcome::kPass, std::move(what)); }
  void unknown(std::string what) { notes_.emplace_back(Outcome::kUnknown, std::move(what)); }
  void fail(std::string what) { notes_.emplace_back(Outcome::kFail, std::move(what)); }
  bool empty() const { return notes_.empty(); }
  bool none_worse_than_pass() const;
  Check check() const;

 private:
  std::string name_;
  std::vector<std::pair<Outcome, std::string>> notes_;
};

// How the launcher ended, and the errors that the ranks tell: parts of `completed`.
void see_launcher(const LauncherResult& launcher, Seen& seen);
void see_errors(const Material& material, Seen& seen);

Check completed(const Material& material);
Check ranks_joined(const Material& material);
Check parameters_agree(const Material& material);
Check finite(const Material& material);
Check loss_fell(const Material& material);
Check eval_loss(const Material& material);
Check checkpoint_reloads(const Material& material);
Check transport(const Material& material);
Check throughput(const Material& material);
Check stragglers(const Material& material);

// The same where the events come from foreign logs.
Check completed_by_log(const Material& material);
Check transport_by_log(const Material& material);
/// Whether any step tells a rate of tokens.
bool tells_speed(const Material& material);

}  // namespace muster::runs::checks
