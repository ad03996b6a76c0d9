// What holds for all readers of tools' output, and for the order of outcomes.
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fixture.h"
#include "health/json_text.h"
#include "health/readers.h"

namespace muster::health {
namespace {

struct LogOf {
  const char* check;
  const char* file;
};

constexpr LogOf kGood[] = {
    {"dcgm", "dcgm-4-pass.json"},     {"gpu", "nvidia-smi-q-h100.txt"},
    {"gpu", "nvidia-smi-q-h100.xml"}, {"topology", "topo-p5.txt"},
    {"efa", "lspci-p5en.txt"},        {"neuron", "neuron-ls.json"},
    {"clocks", "chronyc-4.5.txt"},    {"clocks", "timedatectl-255.txt"},
    {"clocks", "ntpq-4.2.8.txt"},     {"clocks", "adjtimex-1.29.txt"},
    {"memory", "meminfo-p5.txt"},     {"memory", "free-h.txt"},
    {"storage", "df-9.1.txt"},        {"storage", "df-inodes-9.1.txt"},
    {"storage", "mounts-p5.txt"},     {"storage", "dd-9.1.txt"},
    {"versions", "versions-p5.txt"},  {"container-runtime", "docker-info-27.txt"},
    {"pytorch", "pytorch-2.8.jsonl"}, {"container-runtime", "runtime-packages.txt"},
};

constexpr LogOf kAll[] = {
    {"dcgm", "dcgm-4-pass.json"},
    {"dcgm", "dcgm-4-isolate.json"},
    {"dcgm", "dcgm-3-fail.json"},
    {"dcgm", "dcgm-4-table.log"},
    {"gpu", "nvidia-smi-q-h100.txt"},
    {"gpu", "nvidia-smi-q-h100.xml"},
    {"topology", "topo-p5.txt"},
    {"efa", "lspci-p5en.txt"},
    {"efa", "rdma-statistic.txt"},
    {"slurm", "scontrol-23.02.txt"},
    {"slurm", "sinfo-25.05.txt"},
    {"neuron", "neuron-ls.json"},
    {"neuron", "neuron-monitor.json"},
    {"clocks", "chronyc-4.5.txt"},
    {"clocks", "timedatectl-255.txt"},
    {"clocks", "ntpq-4.2.8.txt"},
    {"clocks", "adjtimex-1.29.txt"},
    {"memory", "meminfo-p5.txt"},
    {"memory", "free-h.txt"},
    {"storage", "df-9.1.txt"},
    {"storage", "df-inodes-9.1.txt"},
    {"storage", "mounts-p5.txt"},
    {"storage", "dd-9.1.txt"},
    {"versions", "versions-p5.txt"},
    {"container-runtime", "docker-info-27.txt"},
    {"container-runtime", "runtime-packages.txt"},
    {"pytorch", "pytorch-2.8.jsonl"},
};

/// Every file beside the tests stands in one of the lists, and in the page that says where it is
/// from.
TEST(Fixtures, EachIsReadAndItsOriginIsWritten) {
  const auto folder = testing::source_dir() / "tests/health/logs";
  const std::string page = log("README.md");
  const auto names = real_file_system().list(folder).value();
  for (const std::string& name : names) {
    if (name == "README.md") continue;
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name << " has no origin";
    const bool read = std::any_of(std::begin(kAll), std::end(kAll),
                                  [&](const LogOf& one) { return one.file == name; });
    EXPECT_TRUE(read) << name << " is read by no test";
  }
  for (const LogOf& one : kAll) EXPECT_FALSE(log(one.file).empty());
}

TEST(Outcomes, TheWorstIsKeptAndNothingSeenIsUnknown) {
  CheckResult check("c");
  EXPECT_EQ(check.health(), Health::kUnknown);
  check.add(Health::kReboot, "a", "", "xid 79");
  check.add(Health::kFlag, "b", "", "later and milder");
  check.add(Health::kOk, "c", "", "and well");
  EXPECT_EQ(check.health(), Health::kReboot);
  EXPECT_EQ(check.observations().size(), 3U);
  EXPECT_NE(check.evidence().find("xid 79"), std::string::npos);
  EXPECT_NE(check.evidence().find("later and milder"), std::string::npos);
}

TEST(Outcomes, SkippedNeverCountsAsPass) {
  CheckResult skipped("s"), good("g"), absent("a");
  skipped.add(Health::kSkipped, "x", "", "asked, not done");
  good.add(Health::kOk, "x", "", "well");
  absent.add(Health::kNotApplicable, "x", "", "no such thing");
  EXPECT_EQ(exit_code(worst_of({good, skipped})), kExitUnverified);
  EXPECT_EQ(exit_code(worst_of({good, absent})), kExitOk);
  EXPECT_EQ(exit_code(worst_of({absent})), kExitUnverified);
  EXPECT_EQ(exit_code(worst_of({})), kExitUnverified);
  good.add(Health::kSkipped, "x", "", "one part of it");
  EXPECT_EQ(exit_code(worst_of({good})), kExitOk);
}

TEST(Outcomes, ExitCodesFollowTheOrder) {
  for (const auto& [word, code] : {std::pair{"ok", 0},
                                   {"flag", 0},
                                   {"reset", 3},
                                   {"reboot", 3},
                                   {"investigate", 3},
                                   {"replace", 3},
                                   {"skipped", 4},
                                   {"unknown", 4},
                                   {"error", 4}}) {
    const auto health = parse_health_word(word);
    ASSERT_TRUE(health.has_value()) << word;
    EXPECT_STREQ(to_string(*health), word);
    EXPECT_EQ(exit_code(*health), code) << word;
  }
}

TEST(Readers, GoodOutputsAreOk) {
  for (const auto& [check, file] : kGood) {
    const CheckResult result = read(check, log(file));
    EXPECT_EQ(result.health(), Health::kOk) << file << ": " << result.evidence();
  }
}

// What a launcher, a terminal or another system puts around a text changes nothing.
TEST(Readers, PrefixesColorsAndCarriageReturnsChangeNothing) {
  for (const auto& [check, file] : kAll) {
    const std::string text = log(file);
    const Health plain = health(check, text);
    std::string srun, crlf, color;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      srun += "3: " + line + "\n";
      crlf += line + "\r\n";
      color += "\x1b[0m" + line + "\x1b[K\n";
    }
    EXPECT_EQ(health(check, srun), plain) << file;
    EXPECT_EQ(health(check, crlf), plain) << file;
    EXPECT_EQ(health(check, color), plain) << file;
  }
}

// A text that breaks off never looks better than the whole, and never well when it is cut inside a
// document.
TEST(Readers, WhatBreaksOffIsNotWell) {
  for (const auto& [check, file] : kGood) {
    const std::string text = log(file);
    const bool document = text.find('{') == 0 || text.find("<?xml") == 0;
    if (!document || check == std::string("pytorch")) continue;  // a line a rank: below
    const std::size_t end = text.find_last_not_of(" \n");
    for (std::size_t cut = 0; cut < end; cut += 7)
      EXPECT_NE(health(check, text.substr(0, cut)), Health::kOk) << file << " cut at " << cut;
  }
  // Of the records of four ranks, three are not all, and what is left of one is no record.
  const std::string ranks = log("pytorch-2.8.jsonl");
  for (std::size_t cut = 0; cut + 2 < ranks.size(); cut += 7)
    EXPECT_NE(health("pytorch", ranks.substr(0, cut)), Health::kOk) << "cut at " << cut;
  const std::string chrony = log("chronyc-4.5.txt");
  for (std::size_t cut = 0; cut < chrony.find("Leap status"); cut += 7)
    EXPECT_NE(health("clocks", chrony.substr(0, cut)), Health::kOk) << "cut at " << cut;
  // Lists of lines have no end of their own: then the count that is expected tells.
  const std::string pci = log("lspci-p5en.txt");
  EXPECT_EQ(health("efa", pci, a_host("p5en.48xlarge")), Health::kOk);
  EXPECT_EQ(health("efa", pci.substr(0, pci.size() / 2), a_host("p5en.48xlarge")),
            Health::kReplace);
  const std::string gpus = log("nvidia-smi-q-h100.txt");
  EXPECT_EQ(health("gpu", gpus.substr(0, gpus.find("GPU 00000000:64"))), Health::kError);
  const std::string matrix = log("topo-p5.txt");
  EXPECT_EQ(health("topology", matrix.substr(0, matrix.find("GPU5\t"))), Health::kError);
}

TEST(Readers, NothingUnderstoodIsUnknownForEveryCheck) {
  for (const CheckKind& kind : check_kinds()) {
    for (const char* text :
         {"", "\n\n", "hello\n", "command not found\n", "{}\n", "[]\n", "null"}) {
      const Health seen = health(kind.name, text);
      EXPECT_TRUE(seen == Health::kUnknown || seen == Health::kError) << kind.name << ": " << text;
    }
  }
}

// No input makes a check answer ok without evidence: whatever bytes are flipped, inserted or taken
// away, an ok names what was seen.
RC_GTEST_PROP(Readers, AnOkHasEvidence, ()) {
  const auto& [check, file] = kAll[*rc::gen::inRange<std::size_t>(0, std::size(kAll))];
  std::string text = log(file);
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        text[at] = *rc::gen::arbitrary<char>();
        break;
      case 1:
        text.erase(at, *rc::gen::inRange<std::size_t>(1, 200));
        break;
      default:
        text.insert(at, *rc::gen::element(std::string("}"), std::string("\n"), std::string("Fail"),
                                          std::string("0"), std::string("\"")));
    }
  }
  const CheckResult result = read(check, text);
  RC_ASSERT(!result.observations().empty());
  if (result.health() == Health::kOk) {
    bool shown = false;
    for (const Observation& seen : result.observations())
      shown |= seen.health == Health::kOk && !seen.evidence.empty();
    RC_ASSERT(shown);
  }
}

TEST(JsonText, IsFoundInTalk) {
  const auto texts = json_texts(lines_of("talk {not json}\n{\"a\": \"}{\"}\n[1,\n2]\n{\"b\": 1"));
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[0].text, "{\"a\": \"}{\"}");
  EXPECT_EQ(texts[0].line, 2);
  EXPECT_EQ(texts[1].line, 3);
  EXPECT_FALSE(texts[2].whole);
}

}  // namespace
}  // namespace muster::health
