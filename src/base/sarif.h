// SARIF 2.1.0, as code hosts read it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/finding.h"
#include "base/verdict.h"

namespace muster {

/// The whole text of a file that a finding names, or nothing.
using TextOf = std::function<std::optional<std::string>(const std::string& file)>;

/// One run of the tool. Findings are results at their place; checks are results without one, of
/// kind pass, fail or open. Our columns count bytes, SARIF's Unicode code points: with `text_of`
/// they are converted; a column whose line can't be read is left out, since it might be wrong.
nlohmann::ordered_json to_sarif(const std::vector<Check>& checks, const Findings& findings,
                                const TextOf& text_of);

}  // namespace muster
