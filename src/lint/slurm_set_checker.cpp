// Slurm's configuration: each file, and the files of one cluster against each other.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "base/document.h"
#include "lint/lint.h"
#include "lint/slurm_cluster.h"
#include "lint/slurm_conf.h"

namespace muster::lint {
namespace {

bool is_slurm_file(const Source& source) {
  return is_slurm_file_name(source.path.filename().string());
}

// A file of the same folder; nothing when there is none. What is wrong in it is told where it is
// checked.
std::optional<SlurmLines> lines_beside(const Source& source, const char* name) {
  const auto beside = source.path.parent_path() / name;
  if (source.files == nullptr || !source.files->exists(beside)) return std::nullopt;
  const auto text = source.files->read(beside);
  if (!text) return std::nullopt;
  Findings own;
  return parse_slurm_conf(*text, beside.string(), own);
}

Findings check_slurm_file(const Source& source, const facts::Facts& /*known*/, bool& unreadable) {
  Findings findings;
  const auto take = [&](Findings found) {
    std::move(found.begin(), found.end(), std::back_inserter(findings));
  };
  const std::string file = source.path.string();
  const std::string name = source.path.filename().string();
  const bool is_main = name == "slurm.conf";
  const auto main = is_main ? std::nullopt : lines_beside(source, "slurm.conf");
  const SlurmLines* slurm = main ? &*main : nullptr;
  if (name == "topology.yaml") {
    const auto topology = parse_yaml(source.text, file);
    if (!topology) {
      unreadable = true;
      return topology.findings();
    }
    return check_topology_yaml(*topology, slurm);
  }
  const auto lines = parse_slurm_conf(source.text, file, findings);
  if (lines.empty()) {
    unreadable = true;
    findings.push_back(
        error_at({file, 0, 0}, "slurm-conf-form", "not a configuration of Slurm: no setting"));
    return findings;
  }
  if (is_main) {
    const auto gres = lines_beside(source, "gres.conf");
    take(check_slurm_set(lines, gres.value_or(SlurmLines()), file, gres.has_value()));
  } else if (name == "cgroup.conf") {
    take(check_cgroup(lines, slurm, file));
  } else if (name == "topology.conf") {
    take(check_topology(lines, slurm));
  } else if (name == "slurmdbd.conf") {
    take(check_slurmdbd(lines, slurm, file));
  }
  // Alone, a gres.conf says nothing that could be wrong; beside a slurm.conf it is checked there.
  return findings;
}

}  // namespace

bool is_slurm_file_name(const std::string& name) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "slurm.conf", "gres.conf", "cgroup.conf", "topology.conf", "topology.yaml", "slurmdbd.conf"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

const Checker kSlurmSetChecker = {"slurm-set", is_slurm_file, check_slurm_file};

}  // namespace muster::lint
