#include "runs/report_profile.h"

#include <algorithm>

#include <fmt/format.h>

#include "runs/report.h"

namespace muster::runs {
namespace {

/// Steps, and kinds of kernels, that a table shows.
constexpr std::size_t kMostLines = 200;

std::string cell(const std::optional<double>& seconds) {
  return seconds ? fmt::format("<td>{:.4f}</td>", *seconds) : "<td>—</td>";
}

double percent(double part, double whole) {
  return whole > 0 ? std::clamp(100 * part / whole, 0.0, 100.0) : 0;
}

/// Parts of a bar: what is hidden lies under computing, what is late within waiting.
std::string bar(const TimeShares& shares, double longest) {
  const double hidden = shares.hidden.value_or(0);
  const double late = shares.late.value_or(0);
  const double rest = shares.waiting ? *shares.waiting - late : shares.communication;
  const double memory = shares.memory.value_or(0);
  std::string out = "<td class=\"bar\"><div class=\"bars\" aria-hidden=\"true\">";
  for (const auto& [name, seconds] : {std::pair{"own", shares.own - hidden},
                                      {"hidden", hidden},
                                      {"wait", rest},
                                      {"late", late},
                                      {"memory", memory}}) {
    if (seconds > 0)
      out += fmt::format("<i class=\"{}\" style=\"width:{:.1f}%\"></i>", name,
                         percent(seconds, longest));
  }
  return out + "</div></td>";
}

std::string bound(const std::string& text) {
  return fmt::format("<td class=\"text\">{}</td>", escape_html(text));
}

constexpr const char* kColumns =
    "<th scope=\"col\" class=\"bar\">time</th><th scope=\"col\" class=\"text\">bound by</th><th "
    "scope=\"col\">computing s</th><th scope=\"col\">communication s</th><th scope=\"col\">of it "
    "hidden s</th><th scope=\"col\">waiting s</th><th scope=\"col\">of it for late ranks s</th>";

std::string figures(const TimeShares& shares) {
  return cell(shares.own) + cell(shares.communication) + cell(shares.hidden) +
         cell(shares.waiting) + cell(shares.late);
}

std::string ranks_table(const Breakdown& profile) {
  const bool nsys = profile.source == "nsys";
  double longest = 0;
  for (const RankBreakdown& rank : profile.ranks) longest = std::max(longest, rank.shares.wall);
  std::string rows;
  for (const RankBreakdown& rank : profile.ranks) {
    const bool slow = profile.straggler && *profile.straggler == rank.rank;
    rows += fmt::format(
        "<tr{}><th scope=\"row\">{}</th><td class=\"text\">{}</td>{}{}{}{}</tr>\n",
        slow ? " class=\"slow\"" : "", rank.rank, escape_html(rank.host), bar(rank.shares, longest),
        bound(slow ? "straggler: the others wait for it" : rank.bound), figures(rank.shares),
        nsys ? cell(rank.shares.memory) : cell(rank.waited_for));
  }
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\"><table class=\"figures ranks\"><thead><tr><th "
      "scope=\"col\">rank</th><th scope=\"col\" class=\"text\">host</th>{}<th "
      "scope=\"col\">{}</th></tr></thead><tbody>{}</tbody></table></div>",
      kColumns, nsys ? "memory s" : "waited for s", rows);
}

std::string steps_table(const Breakdown& profile) {
  std::string rows;
  std::size_t lines = 0, all = 0;
  double longest = 0;
  for (const RankBreakdown& rank : profile.ranks) {
    all += rank.steps.size();
    for (const StepBreakdown& step : rank.steps) longest = std::max(longest, step.shares.wall);
  }
  for (const RankBreakdown& rank : profile.ranks) {
    for (const StepBreakdown& step : rank.steps) {
      if (lines++ >= kMostLines) break;
      rows +=
          fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td>{}{}{}</tr>\n", rank.rank, step.step,
                      bar(step.shares, longest), bound(step.bound), figures(step.shares));
    }
  }
  if (rows.empty()) return {};
  return fmt::format(
      "<details><summary>Each step{}</summary><div class=\"scroll\" tabindex=\"0\"><table "
      "class=\"figures ranks\"><thead><tr><th scope=\"col\">rank</th><th "
      "scope=\"col\">step</th>{}</tr></thead><tbody>{}</tbody></table></div></details>",
      all > kMostLines ? fmt::format(" (the first {} of {})", kMostLines, all) : "", kColumns,
      rows);
}

std::string categories_table(const Breakdown& profile) {
  std::map<std::string, double> sums;
  double all = 0;
  for (const RankBreakdown& rank : profile.ranks) {
    for (const auto& [name, seconds] : rank.categories) {
      sums[name] += seconds;
      all += seconds;
    }
  }
  if (sums.empty()) return {};
  std::vector<std::pair<std::string, double>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string rows;
  for (const auto& [name, seconds] : order) {
    rows += fmt::format(
        "<tr><th scope=\"row\" class=\"text\">{}</th><td>{:.4f}</td><td>{:.1f} %</td></tr>\n",
        escape_html(name), seconds, percent(seconds, all));
  }
  return "<details open><summary>Kinds of kernels, all ranks</summary><table "
         "class=\"figures\"><thead><tr><th scope=\"col\" class=\"text\">kind</th><th "
         "scope=\"col\">s</th><th scope=\"col\">share</th></tr></thead><tbody>" +
         rows + "</tbody></table></details>";
}

std::string remarks(const Breakdown& profile) {
  std::string items;
  for (const Remark& remark : profile.remarks) {
    items += fmt::format("<li>{}{}</li>\n", escape_html(remark.message),
                         remark.hint.empty() ? "" : "<br>Look at: " + escape_html(remark.hint));
  }
  for (const std::string& gap : profile.gaps)
    items += fmt::format("<li>Not known: {}</li>\n", escape_html(gap));
  return items.empty() ? "" : "<ul>" + items + "</ul>";
}

std::string one_profile(const Breakdown& profile) {
  std::string out = fmt::format(
      "<p><strong>{}</strong> ({}): {}</p>", escape_html(profile.bound),
      profile.source == "nsys" ? "from Nsight Systems" : "from the engine's traces",
      escape_html(profile.evidence.empty() ? "nothing could be told" : profile.evidence));
  out += remarks(profile);
  out += profile.source == "nsys"
             ? "<p class=\"key\"><span class=\"swatch own\"></span> kernels but NCCL's <span "
               "class=\"swatch wait\"></span> NCCL's kernels <span class=\"swatch memory\"></span> "
               "copies</p>"
             : "<p class=\"key\"><span class=\"swatch own\"></span> computing <span class=\"swatch "
               "hidden\"></span> computing, with communication under way <span class=\"swatch "
               "wait\"></span> waiting for data <span class=\"swatch late\"></span> waiting for "
               "ranks that had not come yet</p>";
  return out + ranks_table(profile) + steps_table(profile) + categories_table(profile);
}

}  // namespace

std::string profile_section(const std::vector<Breakdown>& profiles) {
  std::string out;
  for (const Breakdown& profile : profiles) out += one_profile(profile);
  return out;
}

}  // namespace muster::runs
