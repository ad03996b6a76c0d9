// What holds for any run: less evidence is never a better verdict.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "runs/fixture.h"
#include "runs/judge.h"

namespace muster::runs {
namespace {

using namespace testing;  // NOLINT: the fixture of these tests

/// A small run, spoilt in one of several ways or not at all, as its ranks' files.
std::vector<std::string> any_run() {
  const int world = *rc::gen::inRange(1, 5);
  auto ranks = good_run({.world = world, .steps = 12});
  auto& victim = ranks[*rc::gen::inRange<std::size_t>(0, ranks.size())];
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
      event(victim, "step", *rc::gen::inRange(0, 12))["loss"] = nullptr;
      break;
    case 1:
      event(victim, "start")["world"] = world + 1;
      break;
    case 2:
      event(victim, "end")["parameter_hash"] = "other";
      break;
    case 3:
      event(victim, "reload")["hash"] = "other";
      break;
    case 4:
      victim.events.push_back({{"event", "error"}, {"kind", "comm"}, {"message", "m"}});
      break;
    default:
      break;
  }
  std::vector<std::string> files;
  for (const RankEvents& rank : ranks) {
    files.push_back(as_text(rank.events));
  }
  return files;
}

std::vector<RankEvents> read(const std::vector<std::string>& files) {
  std::vector<RankEvents> ranks;
  for (std::size_t rank = 0; rank < files.size(); ++rank) {
    ranks.push_back(from_text(static_cast<int>(rank), files[rank]));
  }
  return ranks;
}

Verdict judge_files(const std::vector<std::string>& files) {
  return judge(ask_all(static_cast<int>(files.size()), 12), read(files), exited());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

RC_GTEST_PROP(Judge, WithoutARanksFileNoRunPasses, ()) {
  const auto files = any_run();
  auto ranks = read(files);
  const Verdict before = judge_files(files);
  ranks.erase(ranks.begin() +
              *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(ranks.size())));
  const Verdict after = judge(ask_all(static_cast<int>(files.size()), 12), ranks, exited());
  RC_ASSERT(after.outcome() != Outcome::kPass);
  if (!ranks.empty()) {
    RC_ASSERT(check(after, "ranks-joined").outcome >= check(before, "ranks-joined").outcome);
  }
}

RC_GTEST_PROP(Judge, WithoutAnyOneEventNoRunPasses, ()) {
  auto files = any_run();
  auto& file = files[*rc::gen::inRange<std::size_t>(0, files.size())];
  auto lines = lines_of(file);
  lines.erase(lines.begin() +
              *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(lines.size())));
  const bool only_the_error = file.find("\"error\"") != std::string::npos &&
                              join(lines).find("\"error\"") == std::string::npos;
  RC_PRE(!only_the_error);  // the last line of its file: a process killed before it had written it
  file = join(lines);
  RC_ASSERT(judge_files(files).outcome() != Outcome::kPass);
}

RC_GTEST_PROP(Judge, ACorruptLineNeverMakesAPass, ()) {
  auto files = any_run();
  auto& file = files[*rc::gen::inRange<std::size_t>(0, files.size())];
  auto lines = lines_of(file);
  auto& line = lines[*rc::gen::inRange<std::size_t>(0, lines.size())];
  const std::string before = line;
  const Outcome outcome = judge_files(files).outcome();
  const int how = *rc::gen::inRange(0, 4);
  switch (how) {
    case 0:
      line = line.substr(0, *rc::gen::inRange<std::size_t>(0, line.size()));
      break;
    case 1:
      line[*rc::gen::inRange<std::size_t>(0, line.size())] =
          static_cast<char>(*rc::gen::inRange(1, 32));
      break;
    case 2:
      line = *rc::gen::string<std::string>();
      break;
    default:
      line.insert(*rc::gen::inRange<std::size_t>(0, line.size()), "\n");
      break;
  }
  RC_PRE(line != before);
  file = join(lines);
  const bool may_pass =
      how == 1 &&
      outcome == Outcome::kPass;  // a figure that lost its last digit to a tab is a figure
  RC_ASSERT(may_pass || judge_files(files).outcome() != Outcome::kPass);
}

RC_GTEST_PROP(Judge, AMissingFieldNeverMakesAPassOfAFailure, ()) {
  const auto files = any_run();
  RC_PRE(judge_files(files).outcome() != Outcome::kPass);
  auto ranks = read(files);
  auto& events = ranks[*rc::gen::inRange<std::size_t>(0, ranks.size())].events;
  auto& victim = events[*rc::gen::inRange<std::size_t>(0, events.size())];
  auto field = victim.begin();
  std::advance(field,
               *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(victim.size())));
  RC_PRE(field.key() != "event");  // without it the line is no event: ACorruptLineNeverMakesAPass
  victim.erase(field);
  RC_ASSERT(judge(ask_all(static_cast<int>(files.size()), 12), ranks, exited()).outcome() !=
            Outcome::kPass);
}

RC_GTEST_PROP(Judge, TheOrderOfTheFilesDoesNotMatter, ()) {
  const auto files = any_run();
  auto ranks = read(files);
  const auto asked = ask_all(static_cast<int>(files.size()), 12);
  const auto before = verdict_document(judge(asked, ranks, exited()));
  for (std::size_t i = ranks.size(); i > 1; --i) {
    std::swap(ranks[i - 1], ranks[*rc::gen::inRange<std::size_t>(0, i)]);
  }
  RC_ASSERT(verdict_document(judge(asked, ranks, exited())) == before);
}

}  // namespace
}  // namespace muster::runs
