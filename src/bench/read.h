// Reads the output of a benchmark, whatever the tool: what it understood as records, what it did
// not as findings.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/record.h"

namespace muster::bench {

/// Text and JSON are told apart by their looks. Failure: JSON that can't be parsed, located. A text
/// in which nothing was understood is an empty log.
Result<Log> read_log(std::string_view text, const std::string& file);

}  // namespace muster::bench
