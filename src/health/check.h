// One health check: everything that was seen, none of it overwritten by what came later, and the
// worst of it as its outcome.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "health/outcome.h"

namespace muster::health {

/// One thing that was seen.
struct Observation {
  Health health = Health::kUnknown;
  std::string rule;      ///< stable identifier, e.g. "xid", "gpu-count"
  std::string subject;   ///< what it is about: a GPU, a device, a node; may be empty
  std::string evidence;  ///< what was seen, with the figures
  Position where;        ///< of the input that tells it
};

class CheckResult {
 public:
  explicit CheckResult(std::string name) : name_(std::move(name)) {}

  void add(Observation seen) { observations_.push_back(std::move(seen)); }
  void add(Health health, std::string rule, std::string subject, std::string evidence,
           Position where = {});

  const std::string& name() const { return name_; }
  const std::vector<Observation>& observations() const { return observations_; }
  bool empty() const { return observations_.empty(); }

  /// The worst of what was seen. Parts that were skipped or don't apply count only where there is
  /// nothing else; nothing seen at all is unknown.
  Health health() const;

  /// What was seen, worst first, as one text; what is well only when nothing is worse.
  std::string evidence() const;

 private:
  std::string name_;
  std::vector<Observation> observations_;
};

/// The outcome of several checks together. One that was skipped counts as not verified; those that
/// don't apply don't count, unless there is nothing else.
Health worst_of(const std::vector<CheckResult>& checks);

/// ok and flag 0, a fault 3, all else 4.
ExitCode exit_code(Health health);

}  // namespace muster::health
