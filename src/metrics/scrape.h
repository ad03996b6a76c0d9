// Configurations that scrape a cluster's exporters: for Prometheus, for Amazon Managed Prometheus
// by remote write, for the OpenTelemetry collector. And what is wrong with such a configuration,
// whoever wrote it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "base/finding.h"
#include "facts/exporters.h"
#include "facts/instances.h"
#include "metrics/boards.h"

namespace muster::metrics {

inline constexpr const char* kScrapeTargets[] = {"slurm", "hyperpod-slurm", "eks", "hyperpod-eks"};

/// prometheus: keeps the data itself; amp: also writes it to Amazon Managed Prometheus; otel: the
/// OpenTelemetry collector, which writes it there.
inline constexpr const char* kScrapeCollectors[] = {"prometheus", "amp", "otel"};

struct ScrapeRequest {
  std::string target = "slurm";
  std::string collector = "prometheus";
  std::string cluster = "${CLUSTER_NAME}";
  std::string region = "${AWS_REGION}";
  std::string workspace = "${AMP_WORKSPACE_ID}";
  /// Names of hosts and their instance type; of Slurm clusters. Empty: EC2 is asked.
  std::vector<std::pair<std::string, std::string>> nodes;
  std::vector<std::pair<std::string, std::string>> servers;  ///< those that serve, likewise
  std::string controller;                                    ///< its name; empty: among the nodes
  std::vector<std::string> with;  ///< names of optional exporters that are scraped too
};

/// COLLECTOR.yaml, and targets.yaml when hosts are named. Failure: a target, collector or exporter
/// that is none.
Result<std::vector<BoardFile>> render_scrape(const ScrapeRequest& request,
                                             const facts::Exporters& exporters);

/// The files of all targets and collectors as they are committed, below config/.
std::vector<BoardFile> render_all_scrapes(const facts::Exporters& exporters);

/// What is wrong with a configuration of Prometheus or of the collector. Rules: scrape-twice (two
/// jobs ask one endpoint), scrape-family (two exporters bring the same metrics), scrape-job-label
/// (a target's label says which job runs on its host), scrape-labels (jobs label their targets
/// differently), scrape-types (a filter leaves instance types out), scrape-auth, scrape-suffix,
/// scrape-debug. Files of targets are read beside it.
Findings check_scrape(const Node& document, const std::string& file, const FileSystem& files,
                      const facts::Exporters& exporters,
                      const std::vector<facts::Instance>& instances);

/// Whether a document is such a configuration.
bool is_scrape(const Node& document);

}  // namespace muster::metrics
