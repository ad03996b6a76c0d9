// Facts for output: as JSON, and as text for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "facts/facts.h"

namespace muster::facts {

/// Absent fields are absent. Sizes come twice: memory ("80 GiB") and memory_bytes.
nlohmann::ordered_json to_json(const Instance& instance);
nlohmann::ordered_json to_json(const Dataset& dataset);
nlohmann::ordered_json to_json(const Model& model);

/// One fact a line; interfaces in ranges: "card 0 device 0 efa, cards 1-31 device 1 efa".
std::string describe(const Instance& instance);

/// 80 GiB, 183359 MiB, 1000 B: the largest binary unit that leaves a whole number.
std::string size_text(std::int64_t bytes);

}  // namespace muster::facts
