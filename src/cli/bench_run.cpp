// The judge of benchmarks for `muster run`: what a case of kind bench has printed, held to the
// world, the nodes and the instance type that its manifest asks for.
#include "base/redact.h"
#include "bench/export.h"
#include "bench/judge.h"
#include "bench/read.h"
#include "cli/bench.h"
#include "facts/facts.h"

namespace muster::cli {

using Json = nlohmann::ordered_json;

launch::BenchJudge bench_judge_of(const Context& context) {
  return [&context](const catalog::Case& values, const std::string& log, const std::string& file) {
    launch::BenchJudgement judged;
    const auto refuse = [&judged](const Findings& findings) {
      judged.verdict.add("results", Outcome::kUnknown, to_string(findings.front()));
      return judged;
    };
    const auto known = facts::load_facts(context.files, context.project());
    if (!known) return refuse(known.findings());
    const auto floors = facts::load_performance(context.files, context.project());
    if (!floors) return refuse(floors.findings());
    const auto read = bench::read_log(log, file);
    if (!read) return refuse(read.findings());

    bench::JudgeOptions options;
    options.expect_ranks = values.topology.world();
    options.nodes = values.topology.nodes;
    bench::JudgeReferences references;
    std::optional<facts::Instance> instance;
    if (const std::string& type = values.topology.instance_type; !type.empty()) {
      if (auto found = facts::find_instance(known->instances, type)) instance = std::move(*found);
    }
    if (instance) {
      references.instance = &*instance;
      references.floors = &*floors;
    }
    // A machine that nobody knows has no speed to be held to.
    options.speed = instance.has_value();
    const Redactor redactor;
    const Verdict verdict = bench::judge_logs({*read}, options, references);
    for (const Check& check : verdict.checks())
      judged.verdict.add(check.name, check.outcome, redactor.redact(check.evidence));
    judged.record = Json::object({{"schema_version", 1}});
    judged.record["logs"] = Json::array({redactor.redact(bench::to_json(*read))});
    judged.record["references"] = bench::reference_lines({*read}, options, references);
    return judged;
  };
}

}  // namespace muster::cli
