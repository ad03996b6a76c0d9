#include "launch/collect.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/output.h"
#include "base/redact.h"
#include "launch/foreign.h"
#include "runs/evidence.h"
#include "runs/log_reader.h"

namespace muster::launch {
namespace {

using End = runs::LauncherResult::End;
constexpr std::size_t kLastWords = 6;

std::vector<std::string> last_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (end > start) lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  if (lines.size() > kLastWords) lines.erase(lines.begin(), lines.end() - kLastWords);
  return lines;
}

/// A foreign process that ended with an error of its own; not one that was only asked to end.
bool tells_failure(const std::string& log) {
  const auto end = log.rfind(runs::ProcessLines::kEnd);
  if (end == std::string::npos) return false;
  const std::string_view line = std::string_view(log).substr(end, log.find('\n', end) - end);
  return !line.ends_with(" code=0") && !line.ends_with(" code=143");
}

/// The end of the log of the rank that failed, else of the first that is not empty, else of the
/// launcher's.
std::vector<std::string> last_words(const runs::Run& run, FileSystem& files) {
  for (int rank = 0; rank < run.record().world; ++rank) {
    const auto text =
        files.read(run.directory() / "logs" / ("rank-" + std::to_string(rank) + ".log"));
    if (text && tells_failure(*text)) return last_lines(*text);
  }
  for (int rank = 0; rank < run.record().world; ++rank) {
    const auto text =
        files.read(run.directory() / "logs" / ("rank-" + std::to_string(rank) + ".log"));
    if (text && text->find_first_not_of(" \n") != std::string::npos) return last_lines(*text);
  }
  const auto text = files.read(run.directory() / "logs/launcher.err");
  return text ? last_lines(*text) : std::vector<std::string>();
}

/// What all ranks printed, each line with its rank as mpirun --tag-output writes it.
std::string ranked_log(const runs::Run& run, FileSystem& files) {
  std::string all;
  for (int rank = 0; rank < run.record().world; ++rank) {
    const auto text =
        files.read(run.directory() / "logs" / ("rank-" + std::to_string(rank) + ".log"));
    if (!text) continue;
    for (std::size_t start = 0; start < text->size();) {
      const std::size_t end = std::min(text->find('\n', start), text->size());
      const std::string_view line = std::string_view(*text).substr(start, end - start);
      if (!line.starts_with(runs::ProcessLines::kStart) &&
          !line.starts_with(runs::ProcessLines::kEnd))
        all += fmt::format("[1,{}]<stdout>:{}\n", rank, line);
      start = end + 1;
    }
  }
  return all;
}

/// Both in one, of two checks with the same name the worse.
Verdict joined(const Verdict& run, const Verdict& bench) {
  Verdict all;
  const auto worse = [](const Verdict& other, const Check& check) {
    return std::any_of(other.checks().begin(), other.checks().end(), [&](const Check& one) {
      return one.name == check.name && one.outcome > check.outcome;
    });
  };
  for (const Check& check : run.checks())
    if (!worse(bench, check)) all.add(check);
  for (const Check& check : bench.checks()) {
    const bool told = std::any_of(all.checks().begin(), all.checks().end(),
                                  [&](const Check& one) { return one.name == check.name; });
    if (!told) all.add(check);
  }
  return all;
}

}  // namespace

std::optional<runs::RunState> state_of(const runs::LauncherResult& launched) {
  switch (launched.end) {
    case End::kCancelled:
      return runs::RunState::kCancelled;
    case End::kInterrupted:
      return runs::RunState::kInterrupted;
    case End::kTimedOut:
      return runs::RunState::kTimedOut;
    default:
      return std::nullopt;
  }
}

ExitCode exit_code_of(const runs::LauncherResult& launched, Outcome outcome) {
  if (launched.end == End::kInterrupted) return kExitInterrupted;
  if (launched.end == End::kTimedOut) return kExitTimeLimit;
  if (launched.end == End::kCancelled) return kExitUnverified;
  if (launched.end == End::kNotStarted) return kExitUnverified;
  if (launched.end == End::kExited && launched.exit_code == kExitBadInput) return kExitBadInput;
  return exit_code(outcome);
}

RunOutcome collect(const Prepared& prepared, const runs::LauncherResult& launched, runs::Run& run,
                   const Redactor& redactor, const Seams& seams, const BenchJudge& bench_judge) {
  RunOutcome outcome;
  const auto give_up = [&](const Findings& findings) {
    outcome.refusal = Refusal{findings, kExitInternal};
    outcome.code = kExitInternal;
    outcome.record = run.record();
    return outcome;
  };
  // Secrets go first: whatever happens afterwards, no record keeps one.
  if (auto scrubbed = runs::scrub(run.directory(), redactor); !scrubbed)
    return give_up(scrubbed.findings());

  const auto ranks = runs::read_rank_events(run.directory().string());
  runs::LauncherResult said = launched;
  said.detail = redactor.redact(std::string_view(said.detail));
  const bool foreign = is_foreign(prepared.resolved);
  outcome.verdict = runs::judge(
      foreign ? foreign_expectations(prepared.resolved) : expectations(prepared.resolved.values),
      ranks, said);
  if (prepared.resolved.values.identity.kind == "bench" && bench_judge) {
    const std::string log = ranked_log(run, seams.files);
    if (auto written = seams.files.write(run.directory() / "logs/bench.log", log); !written)
      return give_up(written.findings());
    const BenchJudgement judged = bench_judge(prepared.resolved.values, log, "logs/bench.log");
    outcome.verdict = joined(outcome.verdict, judged.verdict);
    if (auto written = seams.files.write(run.directory() / "bench.json", json_text(judged.record));
        !written)
      return give_up(written.findings());
  }
  if (auto written = runs::write_evidence(run.directory(), ranks); !written)
    return give_up(written.findings());
  if (auto finished = run.finish(outcome.verdict, said.exit_code, state_of(said), said.detail);
      !finished) {
    return give_up(finished.findings());
  }
  outcome.record = run.record();
  // The 2 of a foreign program is its own, not the trainer's word for bad input.
  if (foreign && said.end == End::kExited) said.exit_code.reset();
  outcome.code = exit_code_of(said, outcome.verdict.outcome());
  if (outcome.verdict.outcome() != Outcome::kPass)
    outcome.last_words = last_words(run, seams.files);
  return outcome;
}

}  // namespace muster::launch
