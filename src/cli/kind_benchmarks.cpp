#include "cli/kind_benchmarks.h"

#include "bench/catalogue.h"
#include "facts/reading.h"

namespace muster::cli {

std::vector<OutputColumn> benchmark_columns() {
  return {{"NAME", "name"},
          {"DESCRIPTION", "description"},
          {"READS", "forms"},
          {"UNITS", "units", true},
          {"CHECKS ITS DATA", "checks", true}};
}

Result<nlohmann::ordered_json> list_benchmarks(const Context& /*context*/) {
  auto items = nlohmann::ordered_json::array();
  for (const bench::Benchmark& one : bench::benchmarks()) items.push_back(bench::to_json(one));
  return items;
}

Result<Shown> show_benchmark(const Context& /*context*/, const std::string& name) {
  std::vector<std::string> names;
  for (const bench::Benchmark& one : bench::benchmarks()) {
    if (name == one.name) return Shown{bench::to_json(one), {}};
    names.emplace_back(one.name);
  }
  return facts::unknown_name("benchmark", name, names);
}

}  // namespace muster::cli
