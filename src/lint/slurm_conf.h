// Slurm's configuration files as lines of KEY=VALUE, the way Slurm itself reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace muster::lint {

struct SlurmSetting {
  std::string key;  ///< as written; Slurm does not mind its case
  std::string value;
  Position where;
};

/// One line: on lines of nodes and partitions several settings, the first of which names them.
struct SlurmLine {
  std::vector<SlurmSetting> settings;
  Position where;

  /// By key, whatever its case. Null: not set.
  const SlurmSetting* find(std::string_view key) const;
};

/// Lines without comments, those that end in a backslash joined. What is no setting is a finding
/// (slurm-conf-form), and so is an empty value that takes the next word for its own
/// (slurm-conf-empty).
std::vector<SlurmLine> parse_slurm_conf(std::string_view text, const std::string& file,
                                        Findings& findings);

/// What is wrong in slurm.conf, and between it and the gres.conf of the same cluster. An empty
/// `gres` line list means that there is none.
Findings check_slurm_set(const std::vector<SlurmLine>& slurm, const std::vector<SlurmLine>& gres,
                         const std::string& slurm_file, bool has_gres);

}  // namespace muster::lint
