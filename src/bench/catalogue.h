// The micro-benchmarks that are known: those whose output is read, and what their tables mean.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace muster::bench {

struct Benchmark {
  const char* name;
  const char* description;
  const char* measures;  ///< what its rows are
  const char* forms;     ///< of output that are read
  const char* units;     ///< of its figures, before they become bytes, microseconds and GB/s
  const char* checks;    ///< whether and when it checks its data
};

const std::vector<Benchmark>& benchmarks();

/// {name, description, measures, forms, units, checks}.
nlohmann::ordered_json to_json(const Benchmark& benchmark);

}  // namespace muster::bench
