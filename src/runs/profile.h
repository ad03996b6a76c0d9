// Profiles on disk: traces of the native engine and statistics of Nsight Systems, found in files
// and folders and broken down.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "facts/nsight.h"
#include "runs/breakdown.h"

namespace muster::runs {

/// Where a run keeps its profiles, below its directory.
inline constexpr const char* kProfileFolder = "profile";

struct Profile {
  std::vector<RankTrace> traces;
  std::vector<RankStats> stats;
  std::vector<std::string> gaps;  ///< files that could not be read, and why
  int files = 0;                  ///< looked into
};

/// Adds what `text` holds: a trace, tables of statistics, or a gap that says it is neither.
void read_profile(const std::string& text, const std::string& file, const facts::Nsight& rules,
                  Profile& profile);

/// Whether a file's name is one of a trace or of statistics; of others folders may hold many.
bool may_be_profile(const std::filesystem::path& file);

/// The files of a folder and of the folders in it, in order. Failure: the folder can't be read.
Result<void> read_profile_folder(const FileSystem& files, const std::filesystem::path& folder,
                                 const facts::Nsight& rules, Profile& profile);

/// One of traces, one of statistics, each only when there is something.
std::vector<Breakdown> break_down(const Profile& profile, const facts::Nsight& rules);

}  // namespace muster::runs
