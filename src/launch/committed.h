// The launch files that each case keeps beside its manifest, one folder for each target that it
// declares. They are rendered, never written by hand.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"
#include "catalog/case.h"
#include "facts/facts.h"
#include "launch/profiling.h"
#include "launch/render.h"

namespace muster::launch {

/// What the case starts on a target, without a run: as it is kept beside the manifest; or, with
/// `profiling`, how it is profiled by hand. `nsight` is needed for that alone.
Result<Rendered> render_kept(const catalog::ResolvedCase& resolved, Target target,
                             const facts::Facts& known, const Profiling& profiling = {},
                             const facts::Nsight& nsight = {});

/// Whether a case keeps files for a target: it declares it, and is not started from the machine
/// that asks, as native cases and the local target are.
bool is_kept(const catalog::Case& values, Target target);

struct KeptFile {
  std::filesystem::path path;  ///< absolute
  std::string content;
  bool executable = false;
};

struct Kept {
  std::vector<KeptFile> files;
  std::vector<std::filesystem::path> strays;  ///< in those folders, but not rendered
  int cases = 0;
};

/// Of all cases of a project. Errors: every case that can't be read or rendered, located.
Result<Kept> kept_files(const FileSystem& files, const std::filesystem::path& project);

}  // namespace muster::launch
