// Records in the forms that others read: JSON, the CSV files of public nccl-tests scripts,
// Prometheus text, Markdown. Same input, same bytes.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/record.h"

namespace muster::bench {

/// Every member of the schema; what is not known is null.
nlohmann::ordered_json to_json(const Record& record);

/// {file, runs, records, transports, findings}; a record's `run` counts from 0.
nlohmann::ordered_json to_json(const Log& log);

/// One row a size, the two placements side by side. The columns are those of the script that
/// converts nccl-tests' tables in the public samples: Size_Bytes, Size_KB, … IP_Errors. Errors
/// that were not checked are N/A, never 0.
std::string results_csv(const std::vector<Log>& logs);

/// Metric,Value: points, sizes, peaks and means, errors, the tool's own average.
std::string summary_csv(const std::vector<Log>& logs);

/// Prometheus text format 0.0.4: gauges of time and rates, one series a record.
std::string prometheus_text(const std::vector<Log>& logs);

/// A table for a page.
std::string markdown(const std::vector<Log>& logs);

}  // namespace muster::bench
