#include "runs/judge.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/file_system.h"
#include "base/output.h"
#include "runs/events.h"
#include "runs/judge_checks.h"

namespace muster::runs {
namespace checks {

const RankView* Material::find(int rank) const {
  const auto found = std::find_if(ranks.begin(), ranks.end(),
                                  [rank](const RankView& view) { return view.rank == rank; });
  return found == ranks.end() || found->source->events.empty() ? nullptr : &*found;
}

std::vector<int> Material::absent() const {
  std::vector<int> missing;
  for (int rank = 0; rank < asked.world; ++rank) {
    if (find(rank) == nullptr) {
      missing.push_back(rank);
    }
  }
  return missing;
}

const RankView* Material::witness() const {
  const auto found = std::find_if(ranks.begin(), ranks.end(),
                                  [](const RankView& view) { return !view.steps.empty(); });
  return found == ranks.end() ? nullptr : &*found;
}

bool Seen::none_worse_than_pass() const {
  return std::all_of(notes_.begin(), notes_.end(),
                     [](const auto& note) { return note.first == Outcome::kPass; });
}

Check Seen::check() const {
  constexpr std::size_t kMostNotes = 4;
  Check check{name_, notes_.empty() ? Outcome::kUnknown : Outcome::kPass,
              notes_.empty() ? "nothing was seen" : ""};
  for (const auto& [outcome, what] : notes_) {
    check.outcome = std::max(check.outcome, outcome);
  }
  std::size_t told = 0;
  std::size_t left = 0;
  for (const auto& [outcome, what] : notes_) {
    if (outcome != check.outcome) {
      continue;
    }
    if (told == kMostNotes) {
      ++left;
      continue;
    }
    check.evidence += (told++ == 0 ? "" : "; ") + what;
  }
  if (left > 0) {
    check.evidence += "; and " + std::to_string(left) + " more";
  }
  return check;
}

}  // namespace checks

namespace {

/// A check that fails only because the run was ended before its end says nothing about the run.
Check soften(Check check) {
  if (check.outcome == Outcome::kFail) {
    check.outcome = Outcome::kUnknown;
    check.evidence += " (the run was ended early)";
  }
  return check;
}

}  // namespace

Verdict judge(const Expectations& expectations, const std::vector<RankEvents>& ranks,
              const LauncherResult& launcher) {
  const checks::Material material{expectations, launcher, view(ranks)};
  Verdict verdict;
  const auto add = [&](Check check, bool needs_the_end) {
    verdict.add(needs_the_end && material.cut_short() ? soften(std::move(check))
                                                      : std::move(check));
  };
  add(expectations.from_log ? checks::completed_by_log(material) : checks::completed(material),
      true);
  if (!expectations.driver_only) {
    add(checks::ranks_joined(material), true);
  }
  if (expectations.parameters_agree && expectations.world > 1) {
    add(checks::parameters_agree(material), false);
  }
  if (expectations.finite) {
    add(checks::finite(material), false);
  }
  if (expectations.loss_fell) {
    add(checks::loss_fell(material), true);
  }
  if (expectations.eval_loss_min || expectations.eval_loss_max) {
    add(checks::eval_loss(material), true);
  }
  if (expectations.checkpoint_reloads) {
    add(checks::checkpoint_reloads(material), false);
  }
  if (!expectations.transport.empty()) {
    add(expectations.from_log ? checks::transport_by_log(material) : checks::transport(material),
        false);
  }
  const bool has_speed = !expectations.from_log || checks::tells_speed(material);
  if ((expectations.throughput && has_speed) || expectations.tokens_per_second_min ||
      expectations.mfu_min) {
    add(checks::throughput(material), true);
  }
  if (expectations.stragglers && expectations.world > 1) {
    add(checks::stragglers(material), true);
  }
  return verdict;
}

std::vector<RankEvents> read_rank_events(const std::string& run_directory) {
  const auto folder = std::filesystem::path(run_directory) / "metrics";
  const auto names = real_file_system().list(folder);
  std::vector<RankEvents> ranks;
  if (!names) {
    return ranks;  // nothing was written: the judge finds no rank
  }
  constexpr std::string_view kPrefix = "rank-";
  constexpr std::string_view kSuffix = ".jsonl";
  for (const std::string& name : *names) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) {
      continue;
    }
    RankEvents rank;
    rank.file = (folder / name).string();
    const char* begin = name.data() + kPrefix.size();
    const char* end = name.data() + name.size() - kSuffix.size();
    if (const auto parsed = std::from_chars(begin, end, rank.rank);
        parsed.ec != std::errc() || parsed.ptr != end) {
      continue;
    }
    if (const auto text = real_file_system().read(folder / name)) {
      EventLines lines = read_event_lines(*text, rank.file);
      rank.events = std::move(lines.events);
      rank.findings = std::move(lines.findings);
    } else {
      rank.findings = text.findings();
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

nlohmann::ordered_json verdict_document(const Verdict& verdict) {
  nlohmann::ordered_json document{{"schema_version", 1}};
  document.update(to_json(verdict));
  return document;
}

}  // namespace muster::runs
