// What in a query can't work, though Prometheus would take it: metrics that nobody exports, labels
// that they don't have, counters shown raw, sides of an operator that never match.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "metrics/known.h"
#include "metrics/promql.h"

namespace muster::metrics {

/// The labels of a result.
struct Shape {
  enum class Kind { kScalar, kText, kVector, kRange };
  Kind kind = Kind::kScalar;
  std::set<std::string, std::less<>> labels;
  bool open = false;  ///< it may have others too: a metric in it is not known
};

struct CheckedQuery {
  Shape shape;
  Findings findings;
  std::vector<std::string> metrics;      ///< named, in order, each once
  std::vector<std::string> variables;    ///< Grafana's
  std::vector<std::string> absent_jobs;  ///< jobs that an absent(up{job="…"}) in it watches
};

/// Rules: promql-syntax, query-metric, query-label, query-counter, query-matching.
CheckedQuery check_query(std::string_view text, const Position& where, const KnownMetrics& known);

}  // namespace muster::metrics
