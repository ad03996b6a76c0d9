// SARIF 2.1.0, as code hosts read it.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/finding.h"
#include "base/verdict.h"

namespace muster {

/// One run of the tool. Findings are results at their place; checks are results without one, of
/// kind pass, fail or open.
nlohmann::ordered_json to_sarif(const std::vector<Check>& checks, const Findings& findings);

}  // namespace muster
