// Collectors that work between scrapes, since what they ask is slow: a scrape gets what was last
// collected, and its age.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "metrics/bounded.h"
#include "metrics/exposition.h"

namespace muster::metrics {

/// An exposition, written in both forms.
struct Rendered {
  std::string text, open_metrics;
  std::set<std::string, std::less<>> names;
};

class PeriodicCollector {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Collect = std::function<CollectorState(Exposition&)>;
  struct Snapshot {
    CollectorState state;
    Rendered metrics;
    Time time;
  };

  PeriodicCollector(Collect collect, std::chrono::milliseconds interval);
  ~PeriodicCollector();
  PeriodicCollector(const PeriodicCollector&) = delete;
  PeriodicCollector& operator=(const PeriodicCollector&) = delete;

  /// The last one; null before the first.
  std::shared_ptr<const Snapshot> last() const;
  /// Waits for the first, at most so long.
  void wait_for_first(std::chrono::milliseconds limit) const;

 private:
  void work();

  const Collect collect_;
  const std::chrono::milliseconds interval_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool ending_ = false;
  std::shared_ptr<const Snapshot> last_;
  std::thread thread_;
};

}  // namespace muster::metrics
