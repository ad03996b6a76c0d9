// Every metric that Muster exports: one table, from which the exporter takes type and help, and by
// which dashboards, alert rules and the guide are checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/exposition.h"

namespace muster::metrics {

/// One metric. Everything is text of the program's own; nothing of it is made at run time.
struct MetricRow {
  const char* name;       ///< "node_amazonefa_*": any name that starts so, for what is passed on
  Type type;              ///<
  const char* unit;       ///< bytes, seconds, …; empty: a number of things, or 0 and 1
  const char* labels;     ///< parted by commas, in their order; those in [] may be missing
  const char* collector;  ///< efa, gpu, slurm, health, bench, runs, textfile, exporter
  const char* help;       ///< one line
};

/// All rows, by collector, each name once.
const std::vector<MetricRow>& catalogue();

/// The row of a name: its own, else the pattern that it fits; null when it is none of ours.
const MetricRow* find_metric(std::string_view name);

/// As find_metric; a name that is not in the table is an error of the program.
const MetricRow& metric_row(std::string_view name);

/// Names of a row's labels, those that may be missing without their brackets.
std::vector<std::string> label_names(const MetricRow& row);

// The parts of the table.
std::vector<MetricRow> efa_rows();
std::vector<MetricRow> gpu_rows();
std::vector<MetricRow> slurm_rows();
std::vector<MetricRow> result_rows();
std::vector<MetricRow> exporter_rows();

}  // namespace muster::metrics
