// The checks on what was learned: figures are finite, the loss fell, the evaluation is in its band,
// checkpoints reload.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "runs/judge_checks.h"
#include "runs/statistics.h"

namespace muster::runs::checks {
namespace {

using nlohmann::json;

/// Fewer steps say nothing about a trend; a flat series of fewer than kEnoughSteps may yet fall.
constexpr std::size_t kFewestSteps = 6;
constexpr std::size_t kEnoughSteps = 20;
constexpr double kSignificant = 0.01;

constexpr const char* kGradNorm = "grad_norm";

/// A figure of an event: finite, not finite, or not there.
enum class Figure { kFinite, kNonfinite, kAbsent };

Figure figure(const json& event, const char* key) {
  if (number(event, key)) {
    return Figure::kFinite;
  }
  const auto found = event.find(key);
  return (found != event.end() && found->is_null()) || is_nonfinite(event, key) ? Figure::kNonfinite
                                                                                : Figure::kAbsent;
}

}  // namespace

Check finite(const Material& material) {
  Seen seen("finite");
  std::size_t steps = 0;
  for (const RankView& rank : material.ranks) {
    steps = std::max(steps, rank.steps.size());
    const auto look = [&](const auto& events, const char* key, const char* what) {
      for (const auto& [step, event] : events) {
        const Figure kind = figure(*event, key);
        if (kind == Figure::kNonfinite) {
          seen.fail(fmt::format("{}: the {} is not finite at step {}", rank.name(), what, step));
          return;
        }
        if (kind == Figure::kAbsent &&
            !(material.asked.from_log && std::string_view(key) == kGradNorm)) {
          seen.unknown(fmt::format("{}: step {} has no {}", rank.name(), step, what));
          return;
        }
      }
    };
    look(rank.steps, "loss", "loss");
    look(rank.steps, kGradNorm, "gradient norm");
    look(rank.evals, "loss", "evaluation loss");
    for (const Attempt::Event error : rank.last().errors) {
      if (text(*error, "kind") == "nonfinite") {
        seen.fail(fmt::format("{}: {}", rank.name(), text(*error, "message")));
      }
    }
    if (rank.steps.empty() && material.wanted(rank.rank) && !material.asked.from_log) {
      seen.unknown(fmt::format("{} recorded no step", rank.name()));
    }
  }
  if (material.asked.from_log) {
    if (steps == 0) {
      seen.unknown("no log tells a loss");
    } else if (seen.none_worse_than_pass()) {
      seen.pass(fmt::format("the loss is finite in all {} steps that the log tells", steps));
    }
    return seen.check();
  }
  for (const int rank : material.absent()) {
    if (material.ranks.empty() || material.witness() != nullptr) {
      seen.unknown(fmt::format("no step of rank {}", rank));
    }
  }
  if (seen.none_worse_than_pass() && steps > 0) {
    seen.pass(fmt::format("loss and gradient norm are finite in all {} steps of {}", steps,
                          material.asked.world == 1
                              ? "the rank"
                              : fmt::format("all {} ranks", material.asked.world)));
  }
  return seen.check();
}

Check loss_fell(const Material& material) {
  Seen seen("loss-fell");
  std::vector<double> steps;
  std::vector<double> losses;
  if (const RankView* witness = material.witness()) {
    for (const auto& [step, event] : witness->steps) {
      if (const auto loss = number(*event, "loss")) {
        steps.push_back(static_cast<double>(step));
        losses.push_back(*loss);
      }
    }
  }
  const std::size_t n = losses.size();
  if (n < kFewestSteps) {
    seen.unknown(fmt::format("{} steps with a loss; a trend needs at least {}", n, kFewestSteps));
    return seen.check();
  }
  const auto found = trend(steps, losses);
  const auto tenth = static_cast<std::ptrdiff_t>(std::max<std::size_t>(n / 10, 1));
  const double first = *median({losses.begin(), losses.begin() + tenth});
  const double last = *median({losses.end() - tenth, losses.end()});
  const std::string figures = fmt::format(
      "{:.4g} to {:.4g} over {} steps (Theil-Sen slope {:+.3g} a step, Mann-Kendall z {:+.1f}, "
      "{:.0f} % of pairs fall)",
      first, last, n, found->slope, found->z, 100 * found->falling_share);
  if (found->slope < 0 && found->p_falling < kSignificant) {
    seen.pass(figures);
  } else if (found->slope > 0 && found->p_rising < kSignificant) {
    seen.fail("the loss rose: " + figures);
  } else if (n >= kEnoughSteps) {
    seen.fail("the loss did not fall: " + figures);
  } else {
    seen.unknown("too few steps to tell: " + figures);
  }
  return seen.check();
}

Check eval_loss(const Material& material) {
  Seen seen("eval-loss");
  const auto& low = material.asked.eval_loss_min;
  const auto& high = material.asked.eval_loss_max;
  const std::string band = low && high ? fmt::format("between {:.4g} and {:.4g}", *low, *high)
                           : high      ? fmt::format("at most {:.4g}", *high)
                                       : fmt::format("at least {:.4g}", *low);
  const auto evaluated = std::find_if(material.ranks.begin(), material.ranks.end(),
                                      [](const RankView& rank) { return !rank.evals.empty(); });
  if (evaluated == material.ranks.end()) {
    seen.unknown(fmt::format("{} is asked, but there was no evaluation", band));
    return seen.check();
  }
  const auto& [step, event] = *evaluated->evals.rbegin();
  const auto loss = number(*event, "loss");
  if (!loss) {
    if (figure(*event, "loss") == Figure::kNonfinite) {
      seen.fail(fmt::format("not finite at step {}", step));
    } else {
      seen.unknown(fmt::format("the evaluation of step {} has no loss", step));
    }
    return seen.check();
  }
  const std::string what = fmt::format("{:.4g} at step {}, asked {}", *loss, step, band);
  if ((low && *loss < *low) || (high && *loss > *high)) {
    seen.fail(what);
  } else {
    seen.pass(what);
  }
  return seen.check();
}

Check checkpoint_reloads(const Material& material) {
  Seen seen("checkpoint-reloads");
  std::map<std::string, std::vector<int>> good;  // what was read back -> by which ranks
  for (const RankView& rank : material.ranks) {
    const Attempt& last = rank.last();
    for (const Attempt::Event reload : last.reloads) {
      const std::string hash = text(*reload, "hash");
      const std::string saved = text(*reload, "saved_hash");
      const auto step = integer(*reload, "step");
      if (hash.empty() || saved.empty() || !step) {
        seen.unknown(fmt::format("{}: the reload does not say its step and hashes", rank.name()));
        continue;
      }
      if (hash != saved) {
        seen.fail(fmt::format("{}: step {} reads back as {:.16}, saved was {:.16}", rank.name(),
                              *step, hash, saved));
        continue;
      }
      if (last.end == nullptr) {
        seen.unknown(
            fmt::format("{}: step {} reads back as saved, but there is no end to compare with",
                        rank.name(), *step));
        continue;
      }
      const std::string end_hash = text(*last.end, "parameter_hash");
      if (integer(*last.end, "step") != step || end_hash.empty()) {
        seen.unknown(fmt::format(
            "{}: step {} reads back as saved, but the run ended at another step or without a hash",
            rank.name(), *step));
      } else if (end_hash != hash) {
        seen.fail(fmt::format("{}: step {} reads back as {:.16}, the run ended with {:.16}",
                              rank.name(), *step, hash, end_hash));
      } else {
        good[fmt::format("step {} reads back as {:.16}, as saved and as the run ended", *step,
                         hash)]
            .push_back(rank.rank);
      }
    }
  }
  for (const auto& [what, who] : good) {
    seen.pass(fmt::format("{} ({} {})", what, who.size() == 1 ? "rank" : "ranks", ranges(who)));
  }
  if (seen.empty()) {
    seen.unknown("asked, but no checkpoint was read back");
  }
  return seen.check();
}

}  // namespace muster::runs::checks
