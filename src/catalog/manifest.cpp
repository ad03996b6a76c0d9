#include "catalog/manifest.h"

#include <algorithm>

#include <fmt/format.h>

#include "catalog/architecture.h"
#include "catalog/case.h"
#include "catalog/case_schema.h"
#include "catalog/cluster.h"
#include "catalog/image.h"
#include "catalog/lock_schema.h"
#include "catalog/reorganisation.h"

namespace muster::catalog {
namespace {

// The manifest itself, and then as each of its profiles: what is wrong only under a profile says
// so.
Findings case_findings(const Node& manifest, const std::string& expected_name,
                       const facts::Facts& known) {
  const auto plain = resolve(manifest, expected_name, "", {}, known);
  Findings findings = plain ? plain->warnings : plain.findings();
  const Node* profiles = node_at(manifest, "profiles");
  if (!profiles || has_errors(case_schema().check(manifest, "manifest"))) return findings;
  for (const Node::Entry& profile : profiles->entries()) {
    const auto resolved = resolve(manifest, expected_name, profile.key, {}, known);
    for (Finding finding : resolved ? resolved->warnings : resolved.findings()) {
      const bool seen = std::any_of(findings.begin(), findings.end(), [&](const Finding& other) {
        return other.rule == finding.rule && other.where == finding.where;
      });
      if (seen) continue;
      finding.message += fmt::format(" (profile {})", profile.key);
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

template <Findings (*check)(const Node&)>
Findings facts_findings(const Node& document, const std::string&, const facts::Facts&) {
  return check(document);
}

Findings no_more(const Node&) {
  return {};
}

}  // namespace

const std::vector<ManifestKind>& manifest_kinds() {
  static const std::vector<ManifestKind> kKinds = {
      {"Alerts", "alerts.schema.json", "Muster alert rules", facts::alerts_schema,
       facts_findings<facts::check_alerts>},
      {"Architecture", "architecture.schema.json", "Muster architecture", architecture_schema,
       facts_findings<check_architecture>},
      {"Case", "case.schema.json", "Muster case", case_schema, case_findings},
      {"Cluster", "cluster.schema.json", "Muster cluster", cluster_schema, check_cluster},
      {"ContainerImage", "container-image.schema.json", "Muster container image",
       container_image_schema, check_container_image},
      {"Dashboards", "dashboards.schema.json", "Muster dashboards", facts::dashboards_schema,
       facts_findings<facts::check_dashboards>},
      {"Datasets", "datasets.schema.json", "Muster data sets", facts::datasets_schema,
       facts_findings<facts::check_datasets>},
      {"DcgmErrors", "dcgm.schema.json", "Muster error codes of DCGM", facts::dcgm_schema,
       facts_findings<facts::check_dcgm>},
      {"EndOfLife", "end-of-life.schema.json", "Muster images out of support",
       facts::end_of_life_schema, facts_findings<facts::check_end_of_life>},
      {"Environment", "environment.schema.json", "Muster environment rules",
       facts::environment_schema, facts_findings<facts::check_environment>},
      {"Exporters", "exporters.schema.json", "Muster exporters of metrics", facts::exporters_schema,
       facts_findings<facts::check_exporters>},
      {"HealthThresholds", "health.schema.json", "Muster thresholds of health checks",
       facts::health_schema, facts_findings<facts::check_health>},
      {"Instances", "instances.schema.json", "Muster instance types", facts::instances_schema,
       facts_findings<facts::check_instances>},
      {"Lock", "lock.schema.json", "Muster lock file", lock_schema, facts_findings<no_more>},
      {"LogPatterns", "log-patterns.schema.json", "Muster log patterns", facts::log_patterns_schema,
       facts_findings<facts::check_log_patterns>},
      {"MachineImage", "machine-image.schema.json", "Muster machine image", machine_image_schema,
       check_machine_image},
      {"Models", "models.schema.json", "Muster models", facts::models_schema,
       facts_findings<facts::check_models>},
      {"Nsight", "nsight.schema.json", "Muster rules of profiles", facts::nsight_schema,
       facts_findings<facts::check_nsight>},
      {"PerformanceFloors", "floors.schema.json", "Muster performance floors",
       facts::performance_schema, facts_findings<facts::check_performance>},
      {"Registries", "registries.schema.json", "Muster registries", facts::registries_schema,
       facts_findings<facts::check_registries>},
      {"Reorganisation", "reorganisation.schema.json", "Muster reorganisation of a repository",
       reorganisation_schema, facts_findings<check_reorganisation>},
      {"SlurmOptions", "slurm-options.schema.json", "Muster options of Slurm",
       facts::slurm_options_schema, facts_findings<facts::check_slurm_options>},
      {"Versions", "versions.schema.json", "Muster versions", facts::versions_schema,
       facts_findings<facts::check_versions>},
      {"Xid", "xid.schema.json", "Muster policy on the kernel's log", facts::xid_schema,
       facts_findings<facts::check_xid>},
  };
  return kKinds;
}

Result<const ManifestKind*> identify(const Node& document) {
  const Node* kind = document.is_mapping() ? node_at(document, "kind") : nullptr;
  if (!kind || !kind->is_scalar()) {
    return Failure(
        error_at(document.where(), "manifest-no-kind", "not a manifest (no kind)",
                 fmt::format("a manifest starts with apiVersion: {} and kind:", kApiVersion)));
  }
  std::vector<std::string> names;
  for (const ManifestKind& known : manifest_kinds()) {
    names.push_back(known.name);
    if (kind->text() != known.name) continue;
    const Node* version = node_at(document, "apiVersion");
    if (!version) {
      return Failure(error_at(document.where(), "manifest-api-version", "apiVersion is missing",
                              fmt::format("apiVersion: {}", kApiVersion)));
    }
    if (version->text() != kApiVersion) {
      return Failure(
          error_at(version->where(), "manifest-api-version",
                   fmt::format("apiVersion is \"{}\", not {}", version->text(), kApiVersion)));
    }
    return &known;
  }
  const auto meant = did_you_mean(kind->text(), names);
  return Failure(error_at(kind->where(), "manifest-kind",
                          fmt::format("unknown kind \"{}\"", kind->text()),
                          meant ? fmt::format("did you mean \"{}\"?", *meant)
                                : fmt::format("kinds: {}", fmt::join(names, ", "))));
}

Findings check_manifest(const Node& document, const std::string& expected_name,
                        const facts::Facts& known) {
  const auto kind = identify(document);
  if (!kind) return kind.findings();
  Findings findings = (*kind)->schema().check(document, "manifest");
  if (has_errors(findings)) return findings;
  return (*kind)->rules(document, expected_name, known);
}

std::string json_schema_text(const ManifestKind& kind) {
  const std::string id = std::string("muster/") + kind.schema_file;
  return kind.schema().json_schema(id, kind.title).dump(2) + "\n";
}

}  // namespace muster::catalog
