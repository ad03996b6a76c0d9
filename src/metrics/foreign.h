// Other people's dashboards, rules and scrape configurations, checked as our own are.
#pragma once

#include <optional>
#include <string>

#include "base/file_system.h"
#include "base/finding.h"
#include "metrics/boards.h"

namespace muster::metrics {

struct ForeignFile {
  std::string kind;         ///< dashboard, rules, scrape configuration; empty: it is none of these
  std::size_t checked = 0;  ///< queries or jobs in it
  Findings findings;
};

/// What a file is, and what is wrong with it. A dashboard: queries, ids that two panels share,
/// panels that lie on each other, a data source that is fixed, variables that are not declared.
/// Rules: expressions, alerts without `for`. A text that can't be parsed is a finding.
ForeignFile check_foreign(const std::string& text, const std::string& file, const FileSystem& files,
                          const BoardFacts& facts);

}  // namespace muster::metrics
