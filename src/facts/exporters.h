// Exporters that a scrape visits, where they listen and what they have. The data is
// facts/exporters.yaml.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

struct ExportedMetric {
  std::string name;
  std::string type;                 ///< counter, gauge, histogram
  std::vector<std::string> labels;  ///< beside those of all samples of its exporter
};

struct Exporter {
  std::string name;
  std::string doc;
  std::string job;  ///< the label `job` of its series; empty: no scrape, as of Prometheus' own
  int port = 0;
  std::string path;
  std::vector<std::string> on;        ///< kinds of nodes: compute, controller, login, serving
  std::string app;                    ///< pattern of the label of its pods in Kubernetes
  std::vector<std::string> families;  ///< patterns of names that it alone may bring to a server
  std::vector<std::string> replaces;  ///< families of another exporter: that one then drops them
  bool optional = false;              ///< scraped when asked for only
  std::vector<std::string> labels;    ///< of every sample
  std::vector<ExportedMetric> metrics;
  Position where;
};

struct Exporters {
  std::vector<std::string> target_labels;  ///< what every series has by the scrape's configuration
  std::vector<Exporter> exporters;
};

Result<Exporters> load_exporters(const FileSystem& files, const std::filesystem::path& root);
Result<Exporters> parse_exporters(const std::string& text, const std::string& file);

}  // namespace muster::facts
