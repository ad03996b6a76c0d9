#include "cli/run_view.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "base/display.h"
#include "base/output.h"
#include "base/text.h"
#include "runs/run_record.h"
#include "runs/run_view.h"

namespace muster::cli {
namespace {

std::string colored(const std::string& text, const char* code, bool color) {
  return color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

const char* color_of(Outcome outcome) {
  if (outcome == Outcome::kPass) return "32";
  return outcome == Outcome::kFail ? "1;31" : "33";
}

/// Words in lines of at most `width` columns, all but the first indented.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  if (width < indent + 20) return text;
  std::string result;
  std::size_t column = indent;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    const std::size_t wide = display_width(word);
    if (column > indent && column + 1 + wide > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += wide;
    start = end + 1;
  }
  return result;
}

}  // namespace

RunView::RunView(Context& context)
    : context_(context), progress_(context.err, context.clock, context.show_progress()) {}

void RunView::say(const std::string& line) {
  if (context_.quiet) return;
  progress_.clear();
  context_.err << terminal_safe(line) << '\n' << std::flush;
}

void RunView::standing(const launch::Standing& standing, int steps) {
  if (!standing.doing.empty() && standing.step == 0) {
    progress_.update("start", standing.doing);
    return;
  }
  const double done = steps > 0 ? static_cast<double>(standing.step) / steps : 0;
  progress_.update("train", std::clamp(done, 0.0, 1.0), figures(standing, steps));
}

std::string figures(const launch::Standing& standing, int steps) {
  std::string text = fmt::format("step {}/{}", standing.step, steps);
  if (standing.loss) text += fmt::format("  loss {:.3f}", *standing.loss);
  if (standing.eval_loss) text += fmt::format("  eval {:.3f}", *standing.eval_loss);
  if (standing.tokens_per_second) text += "  " + grouped(*standing.tokens_per_second) + " tokens/s";
  return text;
}

std::string verdict_text(const std::string& title, const VerdictRow& whole,
                         const std::vector<VerdictRow>& rows, int width, bool color) {
  std::string text = colored(whole.word, color_of(whole.outcome), color) +
                     (title.empty() ? "" : "  " + title) + "\n";
  std::size_t longest = 0, words = 7;
  for (const VerdictRow& row : rows) {
    longest = std::max(longest, row.name.size());
    words = std::max(words, row.word.size());
  }
  for (const VerdictRow& row : rows) {
    text += "  " + colored(fmt::format("{:<{}}", row.word, words), color_of(row.outcome), color) +
            "  " + fmt::format("{:<{}}", row.name, longest) + "  " +
            wrapped(terminal_safe(row.evidence), longest + words + 6,
                    static_cast<std::size_t>(std::max(width, 0))) +
            "\n";
  }
  return text;
}

std::string verdict_text(const std::string& title, const Verdict& verdict, int width, bool color) {
  std::vector<VerdictRow> rows;
  for (const Check& check : verdict.worst_first())
    rows.push_back({to_string(check.outcome), check.outcome, check.name, check.evidence});
  return verdict_text(title, {to_string(verdict.outcome()), verdict.outcome(), {}, {}}, rows, width,
                      color);
}

Output run_output(const Context& context, const launch::RunOutcome& outcome) {
  const runs::RunRecord& record = outcome.record;
  Output output;
  output.name = "run";
  output.data["run"] = {{"id", record.id},
                        {"case", record.case_name},
                        {"profile", record.profile},
                        {"target", record.target},
                        {"nodes", record.nodes},
                        {"world", record.world},
                        {"state", runs::to_string(record.state)},
                        {"directory", record.directory.string()},
                        {"exit_code", static_cast<int>(outcome.code)}};
  output.data["verdict"] = to_json(outcome.verdict);
  output.data["figures"] = runs::run_figures(record);
  // Also at the top: what scripts that compare runs look for first.
  output.data["tokens_per_second"] = output.data["figures"]["tokens_per_second"];
  output.checks = outcome.verdict.worst_first();
  const std::string title = fmt::format("{}{} on {}, {} rank{}, run {} ({})", record.case_name,
                                        record.profile.empty() ? "" : " (" + record.profile + ")",
                                        record.target, record.world, record.world == 1 ? "" : "s",
                                        record.id, runs::to_string(record.state));
  output.text = verdict_text(title, outcome.verdict, context.out_is_terminal ? terminal_width() : 0,
                             context.color_out());
  return output;
}

}  // namespace muster::cli
