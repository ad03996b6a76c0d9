// muster bench: judge, read and compare the output of benchmarks; the native ones are
// muster-bench's.
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "base/progress.h"
#include "base/redact.h"
#include "base/schema.h"
#include "bench/baseline.h"
#include "bench/export.h"
#include "bench/judge.h"
#include "bench/read.h"
#include "cli/bench.h"
#include "cli/context.h"
#include "cli/engine_program.h"
#include "cli/run_view.h"
#include "facts/facts.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

struct JudgeRequest {
  std::vector<std::string> logs;
  int expect_ranks = 0, nodes = 0;
  std::string instance, transport, baseline, min_size = "1 MiB";
  double share = 0.7, pair_tolerance = 15;
  bool no_speed = false, allow_unchecked = false, record = false;
};

/// The facts that a judgement takes.
struct References {
  std::optional<facts::Instance> instance;
  std::vector<facts::PerformanceFloor> floors;
  std::optional<bench::Baseline> baseline;
};

Result<References> load_references(const Context& context, const JudgeRequest& request) {
  References references;
  if (!request.instance.empty()) {
    const auto instances = facts::load_instances(context.files, context.project());
    if (!instances) return instances.error();
    auto instance = facts::find_instance(*instances, request.instance);
    if (!instance) return instance.error();
    references.instance = std::move(*instance);
    auto floors = facts::load_performance(context.files, context.project());
    if (!floors) return floors.error();
    references.floors = std::move(*floors);
  }
  if (!request.baseline.empty()) {
    const auto text = context.files.read(context.directory / request.baseline);
    if (!text) return text.error();
    auto baseline = bench::parse_baseline(*text, request.baseline);
    if (!baseline) return baseline.error();
    references.baseline = std::move(*baseline);
  }
  return references;
}

void judge(Context& context, const JudgeRequest& request) {
  bench::JudgeOptions options;
  if (request.expect_ranks > 0) options.expect_ranks = request.expect_ranks;
  if (request.nodes > 0) options.nodes = request.nodes;
  options.transport = request.transport;
  options.speed = !request.no_speed;
  options.allow_unchecked = request.allow_unchecked;
  options.ceiling_share = request.share;
  options.pair_tolerance = request.pair_tolerance / 100;
  const auto min_size = parse_bench_size(request.min_size);
  if (!min_size) return context.fail(min_size.findings(), kExitBadInput);
  options.min_size = *min_size;
  const auto references = load_references(context, request);
  if (!references) return context.fail(references.findings(), kExitBadInput);
  const auto logs = read_logs(context, request.logs);
  if (!logs) return context.fail(logs.findings(), kExitBadInput);

  bench::JudgeReferences known;
  if (references->instance) {
    known.instance = &*references->instance;
    known.floors = &references->floors;
  }
  if (references->baseline) known.baseline = &*references->baseline;
  const Redactor redactor;
  Verdict verdict;
  const Verdict judged = bench::judge_logs(*logs, options, known);
  for (const Check& check : judged.checks())
    verdict.add(check.name, check.outcome, redactor.redact(check.evidence));

  Output output;
  output.name = "bench judge";
  output.data["verdict"] = to_json(verdict);
  output.data["series"] = bench::series_figures(*logs, options.min_size);
  output.data["checks"] = output.data["verdict"]["checks"];
  output.rows = "checks";
  output.columns = {{"OUTCOME", "outcome"}, {"CHECK", "name"}, {"EVIDENCE", "evidence"}};
  output.judges = true;
  output.checks = verdict.worst_first();
  output.text = verdict_text(fmt::format("{}", fmt::join(request.logs, ", ")), verdict,
                             context.out_is_terminal ? terminal_width() : 0, context.color_out());
  context.print(output);
  if (request.record) {
    Json data = Json::object();
    Json list = Json::array();
    for (const bench::Log& log : *logs) list.push_back(bench::to_json(log));
    data["logs"] = std::move(list);
    data["references"] = bench::reference_lines(*logs, options, known);
    std::vector<std::string> texts;
    for (const std::string& path : request.logs)
      texts.push_back(context.files.read(context.directory / path).value());
    const bool any = !logs->empty() && !logs->front().runs.empty();
    const auto nodes = any ? bench::nodes_of(logs->front().runs[0]) : options.nodes;
    const auto ranks = any ? bench::ranks_of(logs->front().runs[0]) : options.expect_ranks;
    record_bench(context, {"bench/judge", nodes.value_or(1), ranks.value_or(nodes.value_or(1)),
                           verdict, data, texts});
  }
  if (context.exit_code == kExitOk) context.exit_code = exit_code(verdict.outcome());
}

struct ReadRequest {
  std::vector<std::string> logs;
  std::string as, out;
};

std::string exported(const std::vector<bench::Log>& logs, const std::string& as) {
  if (as == "results-csv") return bench::results_csv(logs);
  if (as == "summary-csv") return bench::summary_csv(logs);
  if (as == "prometheus") return bench::prometheus_text(logs);
  return bench::markdown(logs);
}

void read(Context& context, const ReadRequest& request) {
  const auto logs = read_logs(context, request.logs);
  if (!logs) return context.fail(logs.findings(), kExitBadInput);
  std::size_t records = 0;
  Findings findings;
  for (const bench::Log& log : *logs) {
    const std::size_t before = records;
    for (const bench::Run& run : log.runs) records += run.records.size();
    if (records == before) {
      findings.push_back(error_at({log.file, 0, 0}, "bench-empty",
                                  "nothing was understood as the output of a benchmark",
                                  "muster list benchmarks names the tools that are read"));
    }
    findings.insert(findings.end(), log.findings.begin(), log.findings.end());
  }
  if (records == 0) {
    return context.fail(findings, kExitUnverified);
  }
  for (const Finding& finding : findings) context.err << to_string(finding) << '\n';
  if (!request.as.empty()) {
    const std::string text = exported(*logs, request.as);
    if (request.out.empty()) {
      context.out << text;
    } else if (const auto written = context.files.write(context.directory / request.out, text);
               !written) {
      return context.fail(written.findings(), kExitInternal);
    }
    if (!findings.empty()) context.exit_code = kExitUnverified;
    return;
  }
  Output output;
  output.name = "bench read";
  Json list = Json::array(), rows = Json::array();
  for (const bench::Log& log : *logs) {
    Json one = bench::to_json(log);
    for (Json record : one["records"]) {
      record["file"] = log.file;
      rows.push_back(std::move(record));
    }
    list.push_back(std::move(one));
  }
  output.data["logs"] = std::move(list);
  output.data["records"] = std::move(rows);
  output.rows = "records";
  output.columns = {{"TOOL", "tool"},
                    {"VERSION", "version", true},
                    {"OPERATION", "operation"},
                    {"TYPE", "type"},
                    {"REDUCTION", "reduction", true},
                    {"PLACEMENT", "placement"},
                    {"VARIANT", "variant"},
                    {"RANKS", "ranks", false, true},
                    {"NODES", "nodes", false, true},
                    {"SIZE", "size", false, true},
                    {"TIME_US", "time_us", false, true},
                    {"ALGBW", "algbw", false, true},
                    {"BUSBW", "busbw", false, true},
                    {"WRONG", "wrong", false, true},
                    {"FILE", "file", true},
                    {"LINE", "line", true, true}};
  context.print(output);
  if (context.exit_code == kExitOk && !findings.empty()) context.exit_code = kExitUnverified;
}

struct BaselineRequest {
  std::vector<std::string> logs;
  std::string out;
};

void baseline(Context& context, const BaselineRequest& request) {
  const auto logs = read_logs(context, request.logs);
  if (!logs) return context.fail(logs.findings(), kExitBadInput);
  bench::Baseline stored;
  const auto path = context.directory / request.out;
  if (context.files.exists(path)) {
    const auto text = context.files.read(path);
    if (!text) return context.fail(text.findings(), kExitBadInput);
    auto before = bench::parse_baseline(*text, request.out);
    if (!before) return context.fail(before.findings(), kExitBadInput);
    stored = std::move(*before);
  }
  // What is wrong or of another run must not become the measure of later ones.
  bench::JudgeOptions options;
  options.speed = false;
  options.allow_unchecked = true;
  const Verdict verdict = bench::judge_logs(*logs, options, {});
  if (verdict.outcome() != Outcome::kPass) {
    const Check worst = verdict.worst_first().front();
    return context.fail(
        {error_at({request.logs.front(), 0, 0}, "baseline-" + worst.name,
                  "no baseline: " + worst.evidence, "only good runs set a measure")},
        exit_code(verdict.outcome()));
  }
  for (const bench::Log& log : *logs) bench::add_to_baseline(log, stored);
  if (const auto written = context.files.write(path, bench::baseline_text(stored)); !written)
    return context.fail(written.findings(), kExitInternal);
  Output output;
  output.name = "bench baseline";
  output.data["baseline"] = request.out;
  Json& list = output.data["series"] = Json::array();
  for (const auto& [key, sizes] : stored.series) {
    std::size_t samples = 0;
    for (const auto& [size, at] : sizes)
      samples = std::max(samples, std::max(at.rates.size(), at.times.size()));
    list.push_back({{"series", key}, {"sizes", sizes.size()}, {"samples", samples}});
  }
  output.rows = "series";
  output.columns = {
      {"SERIES", "series"}, {"SIZES", "sizes", false, true}, {"SAMPLES", "samples", false, true}};
  context.print(output);
}

void add_judge(CLI::App& bench, Context& context) {
  CLI::App* sub = bench.add_subcommand(
      "judge", "Is the result right, of the run that was meant, and fast enough");
  const auto request = std::make_shared<JudgeRequest>();
  sub->add_option("log", request->logs, "Output of benchmarks: text or JSON")
      ->required()
      ->type_name("LOG");
  sub->add_option("--expect-ranks", request->expect_ranks, "Ranks that should have taken part")
      ->check(CLI::Range(1, 1 << 24))
      ->type_name("N");
  sub->add_option("--nodes", request->nodes, "Nodes that should have taken part")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N");
  sub->add_option("--instance", request->instance,
                  "Instance type of the nodes: for ceilings, floors and EFA devices")
      ->type_name("TYPE");
  sub->add_option("--transport", request->transport,
                  "Network that must have been used: efa, ib, socket, any; without it, sockets "
                  "between nodes fail")
      ->type_name("NAME");
  sub->add_option("--baseline", request->baseline, "Measurements of earlier runs")
      ->type_name("FILE");
  sub->add_option("--min-size", request->min_size,
                  "Messages below are not judged by bandwidth; default: 1 MiB")
      ->type_name("SIZE");
  sub->add_option("--ceiling-share", request->share,
                  "Share of the hardware's rate that messages of 1 GiB and more must reach when no "
                  "floor is known; default: 0.7")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("SHARE");
  sub->add_option("--pair-tolerance", request->pair_tolerance,
                  "Percent below the median pair that make a pair slow; default: 15")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("PERCENT");
  sub->add_flag("--no-speed", request->no_speed, "Judge only correctness and identity");
  sub->add_flag("--record", request->record, "Keep logs and verdict as a run, for report");
  sub->add_flag("--allow-unchecked", request->allow_unchecked,
                "Accept results whose data the tool did not check");
  sub->footer(
      "Exit codes: 0 good; 3 wrong, another run than the one meant, or too slow; 4 could not be "
      "verified, also \"correct, speed not judged\".\n"
      "Example:\n  muster bench judge nccl.log --expect-ranks 16 --nodes 2 --instance p5.48xlarge");
  sub->callback([&context, request] { judge(context, *request); });
}

void add_read(CLI::App& bench, Context& context) {
  CLI::App* sub = bench.add_subcommand("read", "The records of benchmark output, in one schema");
  const auto request = std::make_shared<ReadRequest>();
  sub->add_option("log", request->logs, "Output of benchmarks: text or JSON")
      ->required()
      ->type_name("LOG");
  CLI::Option* as =
      sub->add_option("--as", request->as,
                      "Another form: results-csv and summary-csv (the columns of nccl_to_csv), "
                      "prometheus, markdown")
          ->check(CLI::IsMember(
              std::vector<std::string>{"results-csv", "summary-csv", "prometheus", "markdown"}))
          ->type_name("FORM");
  sub->add_option("--out", request->out, "With --as: write there, not to standard output")
      ->needs(as)
      ->type_name("FILE");
  sub->footer(
      "Units: bytes, microseconds, GB/s of 10^9 bytes. A value that was not checked is empty.\n"
      "Example:\n  muster bench read nccl.log -o json");
  sub->callback([&context, request] { read(context, *request); });
}

void add_baseline(CLI::App& bench, Context& context) {
  CLI::App* sub =
      bench.add_subcommand("baseline", "Add good runs to the measurements that later ones meet");
  const auto request = std::make_shared<BaselineRequest>();
  sub->add_option("log", request->logs, "Output of good runs")->required()->type_name("LOG");
  sub->add_option("--out", request->out, "The baseline; made, or added to")
      ->required()
      ->type_name("FILE");
  sub->footer(
      "Example:\n  muster bench baseline monday.log tuesday.log wednesday.log --out base.yaml");
  sub->callback([&context, request] { baseline(context, *request); });
}

/// The native benchmarks, handed over to muster-bench with all that follows.
void add_native(CLI::App& bench, Context& context, const char* name, const char* description) {
  CLI::App* sub = bench.add_subcommand(name, description);
  sub->group("Native, by muster-bench");
  sub->prefix_command();
  sub->fallthrough(false);
  sub->set_help_flag();
  sub->callback(
      [sub, name, &context] { hand_over("muster-bench", name, sub->remaining(), context); });
}

}  // namespace

Result<std::uint64_t> parse_bench_size(const std::string& text) {
  const auto size =
      parse_size(text.find_first_not_of("0123456789") == std::string::npos ? text + " B" : text);
  if (text.empty() || !size) {
    return failure("size", fmt::format("\"{}\" is not a size", text),
                   fmt::format("e.g. {}", kSize.example));
  }
  return static_cast<std::uint64_t>(*size);
}

Result<std::vector<bench::Log>> read_logs(const Context& context,
                                          const std::vector<std::string>& paths) {
  std::vector<bench::Log> logs;
  for (const std::string& path : paths) {
    const auto text = context.files.read(context.directory / path);
    if (!text) return text.error();
    auto log = bench::read_log(*text, path);
    if (!log) return log.error();
    logs.push_back(std::move(*log));
  }
  return logs;
}

void add_bench(CLI::App& root, Context& context) {
  CLI::App* sub =
      root.add_subcommand("bench", "Micro-benchmarks: run, read, judge, find what is slow");
  sub->group("Benchmarks");
  sub->require_subcommand(0, 1);
  sub->callback([sub] {
    if (sub->get_subcommands().empty()) throw CLI::RequiredError("What to do: a subcommand");
  });
  add_judge(*sub, context);
  add_read(*sub, context);
  add_baseline(*sub, context);
  add_hunt(*sub, context);
  add_sniff(*sub, context);
  add_order(*sub, context);
  for (const auto& [name, description] : {std::pair{"all_reduce", "Sum over all ranks, everywhere"},
                                          {"all_gather", "All parts, everywhere"},
                                          {"reduce_scatter", "Sums, a part to each rank"},
                                          {"alltoall", "A part from each to each"},
                                          {"alltoallv", "Parts of unequal size from each to each"},
                                          {"broadcast", "One rank's data, everywhere"},
                                          {"reduce", "Sum over all ranks, to one"},
                                          {"gather", "All parts, to one"},
                                          {"scatter", "Parts of one rank's data"},
                                          {"sendrecv", "Around a ring"},
                                          {"hypercube", "All parts, everywhere, in log2 steps"},
                                          {"put", "One-sided writes"},
                                          {"get", "One-sided reads"},
                                          {"atomic", "One-sided atomics"},
                                          {"pingpong", "Back and forth between two ranks"},
                                          {"pairs", "Every pair of ranks, one by one"},
                                          {"ep", "Expert parallelism: dispatch and combine"}}) {
    add_native(*sub, context, name, description);
  }
}

}  // namespace muster::cli
