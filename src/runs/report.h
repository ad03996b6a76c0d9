// The report: one self-contained HTML page on one or several runs. No file but itself is needed to
// read it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/verdict.h"
#include "runs/breakdown.h"
#include "runs/evidence.h"
#include "runs/judge.h"
#include "runs/run_record.h"

#include <nlohmann/json.hpp>

namespace muster::runs {

/// All that a page says about a run. What is not there stays empty; the page says so.
struct ReportRun {
  RunRecord record;
  Verdict verdict;  ///< as verdict.json holds it; empty: not judged yet
  std::vector<RankEvents> ranks;
  nlohmann::json versions, topology, environment;
  nlohmann::json bench;             ///< of a benchmark: records, references, pairs (bench.json)
  std::vector<Breakdown> profiles;  ///< where the time went; from whoever has the rules
  std::string manifest;
  std::vector<Checksum> files;  ///< as checksums.sha256 lists them
};

/// Reads the run directory. Failure: a file of it can't be parsed, located. A missing file is no
/// failure.
Result<ReportRun> load_report_run(const RunRecord& record);

/// The page. Same input, same bytes. All text of the runs is escaped, and the page's own content
/// policy forbids requests.
std::string render_report(const std::vector<ReportRun>& runs);

/// Text as it may stand in HTML, in an element or between quotation marks.
std::string escape_html(std::string_view text);

}  // namespace muster::runs
