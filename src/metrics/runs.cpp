#include "metrics/runs.h"

#include <map>

#include "metrics/catalogue.h"

namespace muster::metrics {
namespace {

void put_run(Exposition& to, const char* name, Labels labels, double value) {
  const MetricRow& row = metric_row(name);
  to.add(name, row.type, row.help, std::move(labels), value);
}

Labels with(Labels labels, const char* name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

double since_epoch(runs::TimePoint time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

constexpr Outcome kAllOutcomes[] = {Outcome::kPass, Outcome::kFail, Outcome::kUnknown};

void collect_run(const RunResult& result, const Labels& labels, Exposition& to) {
  const runs::RunRecord& record = result.record;
  put_run(to, "muster_run_info", with(labels, "run", record.id), 1);
  put_run(to, "muster_run_start_timestamp_seconds", labels,
          since_epoch(record.started.value_or(record.created)));
  if (record.ended) {
    put_run(to, "muster_run_duration_seconds", labels,
            since_epoch(*record.ended) - since_epoch(record.started.value_or(record.created)));
  }
  put_run(to, "muster_run_nodes", labels, record.nodes);
  put_run(to, "muster_run_ranks", labels, record.world);
  if (record.outcome) {
    for (const Outcome one : kAllOutcomes) {
      put_run(to, "muster_run_outcome", with(labels, "outcome", to_string(one)),
              record.outcome == one ? 1 : 0);
    }
  }
  for (const Check& check : result.verdict.checks()) {
    for (const Outcome one : kAllOutcomes) {
      put_run(to, "muster_run_check",
              with(with(labels, "check", check.name), "outcome", to_string(one)),
              check.outcome == one ? 1 : 0);
    }
  }
  constexpr struct {
    const char *metric, *figure;
  } kFigures[] = {{"muster_run_steps", "steps"},
                  {"muster_run_loss", "last_loss"},
                  {"muster_run_eval_loss", "eval_loss"},
                  {"muster_run_tokens_per_second", "tokens_per_second"},
                  {"muster_run_mfu_ratio", "mfu"},
                  {"muster_run_start_to_first_step_seconds", "start_to_first_step_seconds"}};
  for (const auto& [metric, figure] : kFigures) {
    const auto found = result.figures.find(figure);
    if (found != result.figures.end() && found->is_number())
      put_run(to, metric, labels, found->get<double>());
  }
}

}  // namespace

void collect_runs(const std::vector<RunResult>& results, Exposition& to) {
  std::map<Labels, const RunResult*> last;
  for (const RunResult& result : results) {
    const RunResult*& one = last[{{"case", result.record.case_name},
                                  {"target", result.record.target},
                                  {"profile", result.record.profile}}];
    if (one == nullptr || one->record.created < result.record.created) one = &result;
  }
  for (const auto& [labels, result] : last) collect_run(*result, labels, to);
}

}  // namespace muster::metrics
