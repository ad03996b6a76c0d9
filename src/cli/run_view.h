// How a run looks to a person: lines and a progress bar while it goes on, the verdict at its end.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "base/verdict.h"
#include "cli/context.h"
#include "launch/run_case.h"

namespace muster::cli {

/// Talk and progress on standard error.
class RunView : public launch::RunObserver {
 public:
  explicit RunView(Context& context);
  void say(const std::string& line) override;
  void standing(const launch::Standing& standing, int steps) override;

  /// Takes the progress bar away.
  void end() { progress_.clear(); }

 private:
  Context& context_;
  Progress progress_;
};

/// What the bar says behind itself: "step 12/40  loss 5.31  1,234 tokens/s".
std::string figures(const launch::Standing& standing, int steps);

/// One check as a person sees it: `word` is its outcome in the words of the verb, colored by
/// `outcome`.
struct VerdictRow {
  std::string word;
  Outcome outcome = Outcome::kUnknown;
  std::string name, evidence;
};

/// `whole` first (its word, behind it the title), then the rows as given, wrapped to `width`
/// columns (0: not wrapped).
std::string verdict_text(const std::string& title, const VerdictRow& whole,
                         const std::vector<VerdictRow>& rows, int width, bool color);

/// The verdict as text: outcome first, then every check with its evidence, worst first, wrapped to
/// `width` columns (0: not wrapped).
std::string verdict_text(const std::string& title, const Verdict& verdict, int width, bool color);

/// What a run's verdict is as data: {run: {…}, verdict: {outcome, checks}}.
Output run_output(const Context& context, const launch::RunOutcome& outcome);

}  // namespace muster::cli
