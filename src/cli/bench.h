// What the verbs of muster bench share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "base/verdict.h"
#include "bench/record.h"
#include "cli/context.h"
#include "launch/prepare.h"

namespace muster::cli {

/// Bytes of "1 MiB", "64k" or "4096".
Result<std::uint64_t> parse_bench_size(const std::string& text);

/// Reads the files, relative to the working directory; positions name them as given.
Result<std::vector<bench::Log>> read_logs(const Context& context,
                                          const std::vector<std::string>& paths);

/// What a benchmark leaves in the store of runs: bench.json, logs/ and the verdict, so that `list
/// runs`, `show run` and `report` know it.
struct BenchRecord {
  std::string name;  ///< bench/hunt, bench/sniff, bench/judge
  int nodes = 1, ranks = 1;
  Verdict verdict;
  nlohmann::ordered_json data;       ///< logs, references, pairs
  std::vector<std::string> outputs;  ///< logs/output-0000.log …; secrets are taken out
  std::string profile = {};          ///< of a probe: its name
};

/// Records it; what can't be written is said, and is no reason to lose the verdict.
void record_bench(Context& context, const BenchRecord& record);

/// Judges what cases of kind bench have printed. `context` must outlive it.
launch::BenchJudge bench_judge_of(const Context& context);

void add_hunt(CLI::App& bench, Context& context);
void add_order(CLI::App& bench, Context& context);
void add_sniff(CLI::App& bench, Context& context);

}  // namespace muster::cli
