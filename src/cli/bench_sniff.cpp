// muster bench sniff: a short probe, again and again, against its own history in the store of runs.
#include <algorithm>
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
#include "cli/run_view.h"
#include "runs/run_store.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSniff = "bench/sniff";

struct SniffRequest {
  std::string command, name, limit = "60s", every;
  int count = 1, history = 50;
  bool allow_unchecked = false;
};

/// What earlier probes of this name measured: those that were not judged bad.
bench::Baseline history_of(Context& context, const SniffRequest& request) {
  bench::Baseline baseline;
  baseline.file = "of earlier probes";
  auto store = runs::RunStore::open(context.runs_dir(), context.clock);
  if (!store) return baseline;
  auto records = store->list();
  if (!records) return baseline;
  int taken = 0;
  for (const runs::RunRecord& record : *records) {  // newest first
    if (record.case_name != kSniff || record.profile != request.name) continue;
    if (!record.outcome || *record.outcome == Outcome::kFail || taken >= request.history) continue;
    const auto text = context.files.read(record.directory / "bench.json");
    if (!text) continue;
    const auto log = bench::read_log(*text, (record.directory / "bench.json").string());
    if (!log) continue;
    bench::add_to_baseline(*log, baseline);
    ++taken;
  }
  return baseline;
}

/// One probe; false when it was interrupted.
bool probe(Context& context, const SniffRequest& request, std::chrono::milliseconds limit,
           Json& probes, Outcome& worst) {
  Command command;
  command.argv = {"/bin/sh", "-c", request.command};
  command.time_limit = limit;
  const auto result = context.processes.run(command);
  Verdict verdict;
  std::string output;
  bench::Log log;
  if (!result) {
    verdict.add("completed", Outcome::kUnknown, result.findings().front().message);
  } else {
    output = result->out + result->err;
    auto read = bench::read_log(result->out, "probe");
    if (read) log = std::move(*read);
    if (result->interrupted) return false;
    if (result->timed_out) {
      verdict.add("completed", Outcome::kFail,
                  fmt::format("did not end within {} s", limit.count() / 1000));
    } else if (result->exit_code != 0) {
      verdict.add("completed", Outcome::kFail, fmt::format("exit code {}", result->exit_code));
    }
  }
  const bench::Baseline baseline = history_of(context, request);
  bench::JudgeOptions options;
  options.allow_unchecked = request.allow_unchecked;
  options.min_size = 0;  // a probe is small, and is held to itself
  bench::JudgeReferences references;
  references.baseline = &baseline;
  const Verdict judged = bench::judge_logs({log}, options, references);
  const Redactor redactor;
  for (const Check& check : judged.checks())
    verdict.add(check.name, check.outcome, redactor.redact(check.evidence));
  Json data = Json::object();
  data["logs"] = Json::array({bench::to_json(log)});
  data["references"] = bench::reference_lines({log}, options, references);
  const bool any = !log.runs.empty();
  record_bench(context, {kSniff,
                         any ? bench::nodes_of(log.runs[0]).value_or(1) : 1,
                         any ? bench::ranks_of(log.runs[0]).value_or(1) : 1,
                         verdict,
                         data,
                         {output},
                         request.name});
  worst = std::max(worst, verdict.outcome());
  if (!context.quiet) {
    context.err << verdict_text(fmt::format("probe {}", request.name), verdict, 0,
                                context.color_err());
  }
  probes.push_back({{"name", request.name},
                    {"outcome", to_string(verdict.outcome())},
                    {"verdict", to_json(verdict)},
                    {"series", bench::series_figures({log}, 0)}});
  return true;
}

void sniff(Context& context, const SniffRequest& request) {
  const auto duration = [&context](const std::string& text) -> std::chrono::milliseconds {
    const auto seconds = parse_duration(text);
    if (!seconds || *seconds <= 0) {
      context.fail({error_at({}, "duration", "\"" + text + "\" is not a duration", "e.g. 60s")},
                   kExitBadInput);
      return std::chrono::milliseconds(0);
    }
    return std::chrono::milliseconds(static_cast<long long>(*seconds * 1000));
  };
  const auto limit = duration(request.limit);
  if (limit.count() == 0) return;
  std::chrono::milliseconds pause(0);
  if (!request.every.empty()) {
    pause = duration(request.every);
    if (pause.count() == 0) return;
  }
  catch_interrupts();
  Json probes = Json::array();
  Outcome worst = Outcome::kPass;
  bool whole = true;
  for (int i = 0; i < request.count && whole; ++i) {
    if (i > 0) context.clock.sleep_for(pause);
    whole = !interrupted() && probe(context, request, limit, probes, worst);
  }
  Output output;
  output.name = "bench sniff";
  output.data["probes"] = probes;
  output.rows = "probes";
  output.columns = {{"PROBE", "name"}, {"OUTCOME", "outcome"}};
  context.print(output);
  if (!whole) {
    context.exit_code = kExitInterrupted;
  } else if (context.exit_code == kExitOk) {
    context.exit_code = exit_code(worst);
  }
}

}  // namespace

void record_bench(Context& context, const BenchRecord& record) {
  auto store = runs::RunStore::open(context.runs_dir(), context.clock);
  const auto say = [&context](const Findings& findings) {
    for (const Finding& finding : findings) context.err << to_string(finding) << '\n';
  };
  if (!store) return say(store.findings());
  runs::RunSpec spec;
  spec.case_name = record.name;
  spec.target = "local";
  spec.profile = record.profile;
  spec.nodes = record.nodes;
  spec.world = record.ranks;
  spec.command = context.command_line;
  auto run = store->create(spec);
  if (!run) return say(run.findings());
  const Redactor redactor;
  Json data = Json::object();
  data["schema_version"] = 1;
  for (const auto& [key, value] : record.data.items()) data[key] = redactor.redact(value);
  auto written = context.files.write(run->directory() / "bench.json", json_text(data));
  for (std::size_t i = 0; written && i < record.outputs.size(); ++i) {
    written = context.files.write(run->directory() / "logs" / fmt::format("output-{:04}.log", i),
                                  redactor.redact(record.outputs[i]));
  }
  if (!written) say(written.findings());
  if (const auto finished = run->finish(record.verdict, std::nullopt); !finished)
    say(finished.findings());
}

void add_sniff(CLI::App& bench, Context& context) {
  CLI::App* sub = bench.add_subcommand("sniff", "A short probe, held to its own history");
  const auto request = std::make_shared<SniffRequest>();
  sub->add_option("--command", request->command,
                  "A shell command that runs a short benchmark of any tool that is read")
      ->required()
      ->type_name("CMD");
  sub->add_option("--name", request->name, "Probes of one name have one history")
      ->required()
      ->type_name("NAME");
  sub->add_option("--limit", request->limit, "Of one probe; default: 60s")->type_name("DURATION");
  sub->add_option("--every", request->every, "Pause between two probes")->type_name("DURATION");
  sub->add_option("--count", request->count, "How many probes; default: 1")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  sub->add_option("--history", request->history, "Earlier probes to hold it to; default: 50")
      ->check(CLI::Range(3, 100))
      ->type_name("N");
  sub->add_flag("--allow-unchecked", request->allow_unchecked,
                "Accept results whose data the tool did not check");
  sub->footer(
      "The first three probes of a name are unknown (exit code 4): there is no history yet.\n"
      "Example:\n  muster bench sniff --name rack1 --every 10m --count 144 --command 'srun -N2 "
      "all_reduce_perf -b 64M -e 64M'");
  sub->callback([&context, request] { sniff(context, *request); });
}

}  // namespace muster::cli
