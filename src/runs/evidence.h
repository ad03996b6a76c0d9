// The evidence beside a run's result: versions, topology, environment, checksums; and its verification.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/result.h"

#include <nlohmann/json_fwd.hpp>

namespace muster::runs {

struct RankEvents;

/// Muster, compiler, operating system and kernel of this machine; libtorch and MPI as the start events say. Ranks that
/// disagree are listed each under "ranks".
nlohmann::json versions(const std::vector<RankEvents>& ranks);

/// Nodes with their ranks, host names, processor model, cores and memory. What only the other node knows is absent.
nlohmann::json topology(const std::vector<RankEvents>& ranks);

/// The environment with every secret's value replaced (base/redact.h), sorted by name.
nlohmann::json environment(const std::map<std::string, std::string>& variables);

/// This process's environment.
std::map<std::string, std::string> current_environment();

/// Before the launch: environment.json, and topology.json and versions.json of this machine. After it, call again with the
/// ranks' events: the files are replaced.
Result<void> write_evidence(const std::filesystem::path& run, const std::vector<RankEvents>& ranks);

/// Replaces secrets in every text file of the run directory outside out/ (logs, manifest, rendered files, metrics), each
/// file whole. Returns the files that were changed. `known` are values to look for literally, e.g. those of secret
/// variables of the environment.
Result<std::vector<std::string>> scrub(const std::filesystem::path& run, const std::vector<std::string>& known = {});

/// Values of this environment's secret variables (token, password, key …) that are long enough to look for.
std::vector<std::string> secret_values(const std::map<std::string, std::string>& variables);

/// Writes RUN/checksums.sha256 (sha256sum's format, sorted by path) over every regular file but itself, the lock and
/// report.html.
Result<void> write_checksums(const std::filesystem::path& run);

/// Compares the directory with its checksums.sha256: an error finding for each file changed, missing or extra. Empty: all
/// is as it was. Failure: there are no checksums or they can't be read.
Result<Findings> verify(const std::filesystem::path& run);

}  // namespace muster::runs
