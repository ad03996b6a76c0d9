// What a run puts before the program of each process of a foreign launcher, so that each process
// leaves a log of its own and says that it was there and how it ended (runs::ProcessLines).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/case.h"
#include "launch/render.h"
#include "launch/workload.h"

namespace muster::launch {

/// The command with the words of a wrapper before the program. Error: a launcher that starts no
/// processes which can be wrapped (ray-job, server).
Result<std::vector<Word>> wrap_command(const Workload& workload,
                                       const catalog::ResolvedCase& resolved,
                                       std::vector<Word> command, const std::vector<Word>& wrapper);

/// Lines of bash that set rank, world, local and last of a process, whatever has started it.
std::string process_identity();

/// rendered/process.sh, for processes that share the run's directory: a log for each. It hands
/// signals on and ends with the program's code.
RenderedFile process_script(const std::filesystem::path& run_directory);

/// The same for processes whose output is all that gets out of their node: each line has its rank
/// before it (rank_of_line). Takes the program and its arguments as its own.
std::string console_script(const catalog::ResolvedCase& resolved);

/// The words that start console_script() where no file of ours is: with the script among them, or
/// (`by_variable`) in MUSTER_PROCESS, for a program that puts its words through another shell.
std::vector<Word> console_wrapper(const std::string& script, bool by_variable);

/// Whose line it is, and the line as the process wrote it. Nothing: it has no rank before it.
struct RankLine {
  int rank = 0;
  std::string_view text;
};
std::optional<RankLine> rank_of_line(std::string_view line);

}  // namespace muster::launch
