// The evidence beside a run's result: versions, topology, environment, checksums; and its
// verification.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/redact.h"
#include "base/result.h"
#include "runs/judge.h"

#include <nlohmann/json.hpp>

namespace muster::runs {

/// Muster, compiler, operating system and kernel of this machine; libtorch, MPI and the trainer's
/// compiler as the start events say. What ranks disagree on is a list of all values, each with its
/// ranks.
nlohmann::json versions(const std::vector<RankEvents>& ranks);

/// Nodes with their ranks, host names, processor model, cores and memory. What only another node
/// knows is absent.
nlohmann::json topology(const std::vector<RankEvents>& ranks);

/// This process's environment.
std::map<std::string, std::string> current_environment();

/// Knows the secrets of this process's environment.
Redactor environment_redactor();

/// Writes versions.json, topology.json and environment.json (redacted). Called before the launch
/// with no ranks, and after it with the ranks' events.
Result<void> write_evidence(const std::filesystem::path& run, const std::vector<RankEvents>& ranks);

/// Removes secrets from every text file of the run directory outside out/ (logs, manifest, rendered
/// files, metrics), each file whole. Returns the files that were changed, below the run directory,
/// sorted. Not while the run goes on: who has a log open would go on writing to the old one.
Result<std::vector<std::string>> scrub(const std::filesystem::path& run, const Redactor& redactor);

/// One line of checksums.sha256.
struct Checksum {
  std::string path;  ///< below the run directory
  std::string sha256;
};

/// Writes RUN/checksums.sha256 (sha256sum's format, sorted by path) over every regular file but
/// itself, the lock and report.html, which can be made again at any time.
Result<void> write_checksums(const std::filesystem::path& run);

/// Reads checksums.sha256; a line that is none is an error at its place.
Result<std::vector<Checksum>> parse_checksums(const std::string& text, const std::string& file);

/// Compares the directory with its checksums.sha256: an error finding for each file changed,
/// missing or extra. Empty: all is as it was. Failure: there are no checksums or they can't be
/// read.
Result<Findings> verify(const std::filesystem::path& run);

}  // namespace muster::runs
