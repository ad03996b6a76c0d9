// All facts of a project at once, and how each kind of facts file is checked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/file_system.h"
#include "base/result.h"
#include "base/schema.h"
#include "facts/datasets.h"
#include "facts/end_of_life.h"
#include "facts/environment.h"
#include "facts/instances.h"
#include "facts/models.h"
#include "facts/performance.h"
#include "facts/registries.h"
#include "facts/slurm.h"
#include "facts/versions.h"

namespace muster::facts {

struct Facts {
  std::vector<Instance> instances;
  std::vector<Dataset> datasets;
  std::vector<Model> models;
  VersionCatalog versions;
  Floors floors;  ///< those of `versions`
  EnvironmentRules environment;
  SlurmOptions slurm;
  EndOfLife end_of_life;
  std::vector<PerformanceFloor> performance;
  PublicAccounts public_accounts;
};

/// Where an installation keeps its facts and cases: share/muster beside the program's bin.
std::filesystem::path share_directory();

/// Reads what is there below ROOT/facts, or what the installation brought; a file that is absent
/// gives nothing.
Result<Facts> load_facts(const FileSystem& files, const std::filesystem::path& root);

const Schema& instances_schema();
const Schema& alerts_schema();
const Schema& dashboards_schema();
const Schema& datasets_schema();
const Schema& dcgm_schema();
const Schema& end_of_life_schema();
const Schema& environment_schema();
const Schema& exporters_schema();
const Schema& health_schema();
const Schema& models_schema();
const Schema& nsight_schema();
const Schema& performance_schema();
const Schema& log_patterns_schema();
const Schema& registries_schema();
const Schema& slurm_options_schema();
const Schema& versions_schema();
const Schema& xid_schema();

// What the schemas can't say; expect a document without schema findings.
Findings check_instances(const Node& document);
Findings check_alerts(const Node& document);
Findings check_dashboards(const Node& document);
Findings check_datasets(const Node& document);
Findings check_dcgm(const Node& document);
Findings check_end_of_life(const Node& document);
Findings check_environment(const Node& document);
Findings check_exporters(const Node& document);
Findings check_health(const Node& document);
Findings check_models(const Node& document);
Findings check_nsight(const Node& document);
Findings check_performance(const Node& document);
Findings check_log_patterns(const Node& document);
Findings check_registries(const Node& document);
Findings check_slurm_options(const Node& document);
Findings check_versions(const Node& document);
Findings check_xid(const Node& document);

}  // namespace muster::facts
