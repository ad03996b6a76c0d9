#include "cli/kinds.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/document.h"
#include "cli/kind_architectures.h"
#include "cli/kind_benchmarks.h"
#include "cli/kind_cases.h"
#include "cli/kind_checks.h"
#include "cli/kind_clusters.h"
#include "cli/kind_dashboards.h"
#include "cli/kind_facts.h"
#include "cli/kind_images.h"
#include "cli/kind_metrics.h"
#include "cli/kind_runs.h"

namespace muster::cli {
const std::vector<Kind>& kinds() {
  static const std::vector<OutputColumn> kNames = {{"NAME", "name"},
                                                   {"DESCRIPTION", "description"}};
  static const std::vector<Kind> kKinds = {
      {"cases", "case", "training, serving and benchmark cases: test_cases/, micro-benchmarks/",
       case_columns(), list_case_items, show_case},
      {"architectures", "architecture", "reference architectures: architectures/", kNames,
       list_architectures, show_architecture},
      {"images", "image", "machine and container images", image_columns(), list_images, show_image},
      {"benchmarks", "benchmark", "micro-benchmarks whose output is read", benchmark_columns(),
       list_benchmarks, show_benchmark},
      {"clusters", "cluster", "clusters of the AWS account, and the stacks made for them",
       cluster_columns(), list_clusters, show_cluster, kExitUnverified, "in this account"},
      {"checks", "check", "health checks of a host, and the suites of them", check_columns(),
       list_checks, show_check},
      {"metrics", "metric", "metrics that the exporter and the other commands write",
       metric_columns(), list_metrics, show_metric},
      {"dashboards", "dashboard", "dashboards and alert rules", dashboard_columns(),
       list_dashboards, show_dashboard},
      {"instances", "instance", "instance types and their hardware", instance_columns(),
       list_instances, show_instance},
      {"datasets", "dataset", "data sets that cases name", dataset_columns(), list_datasets,
       show_dataset},
      {"models", "model", "models of the native engine", model_columns(), list_models, show_model},
      {"runs", "run", "recorded runs, newest first", run_columns(), list_runs, show_run},
  };
  return kKinds;
}

Result<const Kind*> find_kind(const std::string& word) {
  std::vector<std::string> words;
  for (const Kind& kind : kinds()) {
    if (word == kind.plural || word == kind.singular) return &kind;
    words.insert(words.end(), {kind.plural, kind.singular});
  }
  const auto meant = did_you_mean(word, words);
  return failure("unknown-kind", fmt::format("unknown kind \"{}\"", word),
                 meant ? fmt::format("did you mean \"{}\"?", *meant) : "kinds: " + kind_names());
}

std::string kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.plural);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string kind_type() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.plural);
  return fmt::format("KIND:{{{}}}", fmt::join(names, ","));
}

}  // namespace muster::cli
