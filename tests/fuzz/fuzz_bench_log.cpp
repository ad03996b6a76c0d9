// Output of benchmarks of all tools, as text and JSON, and all that is made of it: never crashes,
// never a place outside the text, never a figure that is not finite.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "bench/export.h"
#include "bench/hunt_run.h"
#include "bench/judge.h"
#include "bench/read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // What a trial of a hunt prints: rates are of two nodes that there are, and above nought.
  for (const auto& pair : muster::bench::measure_all_pairs(text, {"n1", "n2", "n3.test"}, 0)) {
    if (pair.nodes.size() != 2 || pair.nodes[0] < 0 || pair.nodes[0] >= pair.nodes[1] ||
        pair.nodes[1] > 2 || pair.rate.value_or(0) <= 0)
      std::abort();
  }
  const auto log = muster::bench::read_log(text, "f.log");
  if (!log) return 0;
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  const auto finite = [](const std::optional<double>& value) {
    if (value && !std::isfinite(*value)) std::abort();
  };
  for (const auto& run : log->runs) {
    for (const auto& record : run.records) {
      if (record.line < 1 || record.line > lines) std::abort();
      finite(record.time);
      finite(record.algbw);
      finite(record.busbw);
      finite(record.wrong);
    }
  }
  const std::vector<muster::bench::Log> logs = {*log};
  muster::bench::JudgeOptions options;
  options.expect_ranks = 2;
  const auto verdict = muster::bench::judge_logs(logs, options, {});
  // Nothing understood is never a pass.
  if (log->empty() && verdict.outcome() == muster::Outcome::kPass) std::abort();
  (void)muster::bench::series_figures(logs, 1);
  (void)muster::bench::to_json(*log);
  (void)muster::bench::results_csv(logs);
  (void)muster::bench::summary_csv(logs);
  (void)muster::bench::prometheus_text(logs);
  (void)muster::bench::markdown(logs);
  return 0;
}
