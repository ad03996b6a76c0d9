#include "cli/script.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/document.h"

namespace muster::clitest {
namespace {

constexpr std::array<std::string_view, 6> kBefore = {"file", "executable", "copy",
                                                     "env",  "stdin",      "limit"};
constexpr std::array<std::string_view, 14> kExpected = {
    "exit",           "stdout",      "stdout~",      "stdout-contains",
    "stdout-lacks",   "stderr",      "stderr~",      "stderr-contains",
    "stderr-lacks",   "expect-file", "expect-file~", "expect-file-contains",
    "expect-no-file", "json"};
// Those whose body is what was printed or written; all others have none.
constexpr std::array<std::string_view, 13> kWithBody = {
    "file",         "executable", "stdin",   "stdout",          "stdout~",      "stdout-contains",
    "stdout-lacks", "stderr",     "stderr~", "stderr-contains", "stderr-lacks", "expect-file",
    "expect-file~"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& set, std::string_view word) {
  return std::find(set.begin(), set.end(), word) != set.end();
}

Failure wrong(const std::string& file, int line, std::string message, std::string hint = {}) {
  return Failure(error_at({file, line, 1}, "test-syntax", std::move(message), std::move(hint)));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

Section section_at(const std::vector<std::string_view>& lines, std::size_t& index) {
  Section section;
  const std::string_view head = lines[index];
  const std::size_t space = std::min(head.find(' '), head.size());
  section.keyword = head.substr(0, space);
  section.rest = head.substr(std::min(space + 1, head.size()));
  section.line = static_cast<int>(index) + 1;
  std::size_t end =
      ++index;  // behind the last indented line; blank lines count only when one follows
  for (std::size_t i = index; i < lines.size(); ++i) {
    if (lines[i].substr(0, 2) == "  ") {
      end = i + 1;
    } else if (!lines[i].empty()) {
      break;
    }
  }
  for (; index < end; ++index) {
    section.body += lines[index].substr(std::min<std::size_t>(2, lines[index].size()));
    section.body += '\n';
  }
  section.end_line = static_cast<int>(end) + 1;
  return section;
}

Failure unknown_keyword(const std::string& file, const Section& section) {
  std::vector<std::string> known = {"needs", "run"};
  known.insert(known.end(), kBefore.begin(), kBefore.end());
  known.insert(known.end(), kExpected.begin(), kExpected.end());
  const auto close = did_you_mean(section.keyword, known);
  return wrong(
      file, section.line, fmt::format("unknown section '{}'", section.keyword),
      close ? fmt::format("did you mean '{}'?", *close) : "bodies are indented by two spaces");
}

}  // namespace

Result<Script> parse_script(std::string_view text, const std::string& file) {
  Script script;
  Step next;
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size();) {
    const std::string_view line = lines[i];
    if (line.empty() || line[0] == '#') {
      if (!line.empty() && script.steps.empty() && next.before.empty()) {
        script.description +=
            std::string(line.substr(std::min<std::size_t>(2, line.size()))) + "\n";
      }
      ++i;
      continue;
    }
    Section section = section_at(lines, i);
    const std::string_view keyword = section.keyword;
    const bool body_allowed = is_one_of(kWithBody, keyword) || keyword == "expect-file-contains";
    if (!body_allowed && !section.body.empty()) {
      return wrong(file, section.line, fmt::format("'{}' has no body", keyword));
    }
    if (keyword == "needs") {
      auto words = split_words(section.rest);
      if (!words) return wrong(file, section.line, words.findings().front().message);
      script.needs.insert(script.needs.end(), words->begin(), words->end());
    } else if (keyword == "run") {
      next.run = std::move(section);
      script.steps.push_back(std::exchange(next, {}));
    } else if (is_one_of(kBefore, keyword)) {
      next.before.push_back(std::move(section));
    } else if (is_one_of(kExpected, keyword)) {
      if (script.steps.empty() || !next.before.empty()) {
        return wrong(file, section.line, fmt::format("'{}' follows no run", keyword));
      }
      script.steps.back().expected.push_back(std::move(section));
    } else {
      return unknown_keyword(file, section);
    }
  }
  if (script.steps.empty()) return wrong(file, 1, "the test runs nothing");
  if (!next.before.empty()) return wrong(file, next.before.front().line, "no run follows this");
  if (script.description.empty())
    return wrong(file, 1, "the test does not say what it shows", "begin with a '# …' line");
  return script;
}

Result<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool started = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\0' && (c == ' ' || c == '\t')) {
      if (started) words.push_back(std::exchange(word, {}));
      started = false;
      continue;
    }
    started = true;
    const bool special =
        i + 1 < line.size() &&
        (quote == '\0' || std::string_view("$`\"\\").find(line[i + 1]) != std::string_view::npos);
    if (c == '\\' && quote != '\'' && special) {
      word += line[++i];
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else {
      word += c;
    }
  }
  if (quote != '\0') return failure("test-syntax", fmt::format("the quote {} does not end", quote));
  if (started) words.push_back(word);
  return words;
}

}  // namespace muster::clitest
