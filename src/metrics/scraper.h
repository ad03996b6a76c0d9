// One exposition from all collectors.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/http_server.h"
#include "metrics/bounded.h"
#include "metrics/periodic.h"
#include "metrics/sources.h"

namespace muster::metrics {

struct ScrapeOptions {
  bool efa = true, gpu = true, slurm = true, textfile = true;
  std::string root;  ///< of the host's files; empty: /
  std::filesystem::path textfiles = "/var/lib/muster/metrics";
  GpuSourceOptions gpus;
  std::chrono::milliseconds gpu_interval{10000};
  std::chrono::milliseconds slurm_interval{30000};
  std::chrono::milliseconds slurm_limit{20000};
  BoundedCollector::Limits files;
};

class Scraper {
 public:
  Scraper(const ScrapeOptions& options, ProcessRunner& processes);

  /// Waits for the collectors that work between scrapes to have worked once.
  void wait_for_first(std::chrono::milliseconds limit) const;

  /// All metrics. `counts`: of the server; null: it has none.
  std::string scrape(Form form, const server::Counts* counts);

 private:
  std::vector<std::pair<std::string, std::unique_ptr<BoundedCollector>>> files_;
  std::map<std::string, std::unique_ptr<PeriodicCollector>> periodic_;
};

}  // namespace muster::metrics
