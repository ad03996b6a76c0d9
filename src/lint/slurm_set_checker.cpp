// Slurm's configuration: each file, and the files of one cluster against each other.
#include <algorithm>
#include <iterator>

#include "lint/lint.h"
#include "lint/slurm_conf.h"

namespace muster::lint {
namespace {

bool is_slurm_conf(const Source& source) {
  const auto name = source.path.filename();
  return name == "slurm.conf" || name == "gres.conf";
}

Findings check_set(const Source& source, const facts::Facts& /*known*/, bool& unreadable) {
  Findings findings;
  const auto lines = parse_slurm_conf(source.text, source.path.string(), findings);
  if (lines.empty()) {
    unreadable = true;
    findings.push_back(error_at({source.path.string(), 0, 0}, "slurm-conf-form",
                                "not a configuration of Slurm: no setting"));
    return findings;
  }
  if (source.path.filename() != "slurm.conf") {
    // Alone, a gres.conf says nothing that could be wrong; beside a slurm.conf it is checked there.
    return findings;
  }
  const auto beside = source.path.parent_path() / "gres.conf";
  std::vector<SlurmLine> gres;
  bool has_gres = false;
  if (source.files != nullptr && source.files->exists(beside)) {
    if (const auto text = source.files->read(beside)) {
      Findings own;  // told where that file is checked
      gres = parse_slurm_conf(*text, beside.string(), own);
      has_gres = true;
    }
  }
  Findings more = check_slurm_set(lines, gres, source.path.string(), has_gres);
  std::move(more.begin(), more.end(), std::back_inserter(findings));
  return findings;
}

}  // namespace

const Checker kSlurmSetChecker = {"slurm-set", is_slurm_conf, check_set};

}  // namespace muster::lint
