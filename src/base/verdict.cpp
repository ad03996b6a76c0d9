#include "base/verdict.h"

#include <algorithm>
#include <utility>

namespace muster {

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "pass";
    case Outcome::kUnknown:
      return "unknown";
    case Outcome::kFail:
      return "fail";
  }
  return "unknown";
}

void Verdict::add(Check check) {
  checks_.push_back(std::move(check));
}

void Verdict::add(std::string name, Outcome outcome, std::string evidence) {
  checks_.push_back({std::move(name), outcome, std::move(evidence)});
}

Outcome Verdict::outcome() const {
  if (checks_.empty()) return Outcome::kUnknown;
  Outcome worst = Outcome::kPass;
  for (const Check& check : checks_) worst = std::max(worst, check.outcome);
  return worst;
}

std::vector<Check> Verdict::worst_first() const {
  std::vector<Check> sorted = checks_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Check& a, const Check& b) { return a.outcome > b.outcome; });
  return sorted;
}

ExitCode exit_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return kExitOk;
    case Outcome::kUnknown:
      return kExitUnverified;
    case Outcome::kFail:
      return kExitFailed;
  }
  return kExitUnverified;
}

}  // namespace muster
