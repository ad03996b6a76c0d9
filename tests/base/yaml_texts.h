// Texts that are YAML, or nearly: from a grammar of everything that the two readers might take for
// different things, so that a property test compares them there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::testing {

/// The text that a row of choices stands for.
std::string yaml_text(const std::vector<std::uint16_t>& choices);

}  // namespace muster::testing
