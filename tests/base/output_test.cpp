#include "base/output.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "base/csv.h"
#include "base/display.h"
#include "base/document.h"
#include "base/junit.h"
#include "base/sarif.h"
#include "base/table.h"
#include "base/text.h"

namespace muster {
namespace {

Output cases() {
  Output output;
  output.name = "list";
  output.rows = "items";
  output.data["items"] =
      nlohmann::ordered_json::array({{{"name", "a"}, {"size", {{"gib", 80}}}, {"tags", {"x", "y"}}},
                                     {{"name", "long name"}, {"size", {{"gib", 141}}}}});
  output.columns = {{"NAME", "name"}, {"GIB", "size.gib", false, true}, {"TAGS", "tags", true}};
  output.empty = "no cases";
  return output;
}

std::string written(const Output& output, Format format) {
  std::ostringstream out;
  const auto result = write_output(out, output, format, false);
  EXPECT_TRUE(result) << to_string(result.findings()[0]);
  return out.str();
}

TEST(OutputTest, OneCallForEveryFormat) {
  EXPECT_EQ(written(cases(), Format::kTable), "NAME       GIB\na           80\nlong name  141\n");
  EXPECT_EQ(written(cases(), Format::kWide),
            "NAME       GIB  TAGS\na           80  x,y\nlong name  141  \n");
  EXPECT_EQ(written(cases(), Format::kCsv),
            "name,size.gib,tags\r\na,80,\"x,y\"\r\nlong name,141,\r\n");
  const std::string json = written(cases(), Format::kJson);
  EXPECT_EQ(json.rfind("{\n  \"schema_version\": 1,\n  \"items\": [", 0), 0U) << json;
  const auto yaml = parse_yaml(written(cases(), Format::kYaml), "f");
  ASSERT_TRUE(yaml);
  EXPECT_EQ(yaml->find("items")->items()[1].find("size")->find("gib")->as_int(), 141);
}

TEST(OutputTest, AnEmptyListSaysSo) {
  Output output = cases();
  output.data["items"] = nlohmann::ordered_json::array();
  EXPECT_EQ(written(output, Format::kTable), "no cases\n");
  EXPECT_EQ(written(output, Format::kCsv), "name,size.gib,tags\r\n");
}

TEST(OutputTest, WhatJudgesNothingHasNoJunit) {
  std::ostringstream out;
  EXPECT_FALSE(write_output(out, cases(), Format::kJunit, false));
  EXPECT_FALSE(write_output(out, cases(), Format::kSarif, false));
  EXPECT_EQ(out.str(), "");
}

TEST(TableTest, ForeignTextCantReachTheTerminal) {
  Table table({{"NAME"}, {"B"}});
  table.add({"a\x1b[31mred\n\xff", "b"});
  table.add({"中文", "c"});
  std::ostringstream out;
  table.write(out, false);
  EXPECT_EQ(out.str(),
            "NAME                  B\na\\x1b[31mred\\x0a\\xff  b\n中文                  c\n");
}

TEST(TableTest, ColorIsForOutcomesAndTitles) {
  Table table({{"OUTCOME"}});
  table.add({"fail"});
  std::ostringstream out;
  table.write(out, true);
  EXPECT_EQ(out.str(), "\x1b[1mOUTCOME\x1b[0m\n\x1b[31mfail\x1b[0m\n");
}

RC_GTEST_PROP(DisplayProperty, SafeTextHasNoControlCharacters, ()) {
  const std::string safe = terminal_safe(*rc::gen::arbitrary<std::string>());
  RC_ASSERT(!find_not_text(safe, "").has_value());
  RC_ASSERT(safe.find_first_of("\n\r\t\x1b") == std::string::npos);
  RC_ASSERT(terminal_safe(safe) == safe);
}

/// A reader of RFC 4180, written apart from the writer.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1);
  std::string cell;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      rows.back().push_back(std::exchange(cell, {}));
      if (c == '\n') rows.emplace_back();
    } else if (c != '\r') {
      cell += c;
    }
  }
  rows.pop_back();
  return rows;
}

RC_GTEST_PROP(CsvProperty, IsReadBackAsItWas, ()) {
  const auto cell =
      rc::gen::container<std::string>(rc::gen::element('a', ',', '"', '\n', '\r', ' ', ';'));
  const auto columns = *rc::gen::inRange<std::size_t>(1, 5);
  const auto rows = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::container<std::vector<std::string>>(columns, cell));
  std::ostringstream out;
  for (const auto& row : rows) write_csv_row(out, row);
  RC_ASSERT(read_csv(out.str()) == rows);
}

TEST(JunitTest, OutcomesKeepTheirWeight) {
  std::ostringstream out;
  write_junit(out, "check",
              {{"a", Outcome::kPass, "fine"},
               {"b", Outcome::kFail, "<bad> & \"worse\"\n"},
               {"c", Outcome::kUnknown, "?"}},
              {error_at({"f", 1, 2}, "rule", "wrong"), warning_at({"f", 3, 0}, "rule", "odd")});
  EXPECT_EQ(
      out.str(),
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites tests=\"5\" failures=\"2\" errors=\"1\">\n"
      "  <testsuite name=\"check\" tests=\"5\" failures=\"2\" errors=\"1\">\n"
      "    <testcase classname=\"check\" name=\"a\"><system-out>fine</system-out></testcase>\n"
      "    <testcase classname=\"check\" name=\"b\"><failure message=\"&lt;bad&gt; &amp; "
      "&quot;worse&quot;&#10;\"/></testcase>\n"
      "    <testcase classname=\"check\" name=\"c\"><error message=\"?\"/></testcase>\n"
      "    <testcase classname=\"check\" name=\"rule f:1:2\"><failure message=\"f:1:2: error: "
      "wrong [rule]\"/></testcase>\n"
      "    <testcase classname=\"check\" name=\"rule f:3\"><system-out>f:3: warning: odd "
      "[rule]</system-out></testcase>\n"
      "  </testsuite>\n</testsuites>\n");
}

TEST(JunitTest, NothingCheckedIsNoPass) {
  std::ostringstream out;
  write_junit(out, "check", {}, {});
  EXPECT_NE(out.str().find("errors=\"1\""), std::string::npos);
}

RC_GTEST_PROP(JunitProperty, ForeignTextStaysInsideItsAttribute, ()) {
  std::ostringstream out;
  write_junit(
      out, "s",
      {{*rc::gen::arbitrary<std::string>(), Outcome::kFail, *rc::gen::arbitrary<std::string>()}},
      {});
  const std::string text = out.str();
  RC_ASSERT(!find_not_text(text, "").has_value());
  RC_ASSERT(std::count(text.begin(), text.end(), '<') == 8);  // the elements themselves
  RC_ASSERT(std::count(text.begin(), text.end(), '"') == 24);
}

TEST(SarifTest, HasWhatCodeHostsAskFor) {
  const auto sarif = to_sarif({{"gpu", Outcome::kUnknown, "no tool"}},
                              {error_at({"dir/a b.yaml", 3, 5}, "rule", "wrong", "right")},
                              [](const std::string&) { return "one\ntwo\nkey: value\n"; });
  EXPECT_EQ(sarif["version"], "2.1.0");
  const auto& run = sarif["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "muster");
  EXPECT_EQ(run["tool"]["driver"]["rules"].size(), 2U);
  EXPECT_EQ(run["results"][0]["kind"], "open");
  const auto& result = run["results"][1];
  EXPECT_EQ(result["ruleId"], "rule");
  EXPECT_EQ(result["level"], "error");
  EXPECT_EQ(result["message"]["text"], "wrong; right");
  const auto& place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "dir/a%20b.yaml");
  EXPECT_EQ(place["region"]["startLine"], 3);
  EXPECT_EQ(place["region"]["startColumn"], 5);
}

// SARIF counts characters, the text output bytes.
TEST(SarifTest, ColumnsCountCodePoints) {
  const std::string four = "\xF0\x9F\x98\x80";  // U+1F600
  const std::string accent = "e\xCC\x81";       // e and U+0301, two code points
  const std::string invalid = "\xFF";           // counts as one
  const std::string text =
      "# first\n" + four + ": x\r\n" + accent + four + invalid + ": y\nplain: z";
  const auto column = [&](int line, int bytes) {
    const auto sarif = to_sarif({}, {error_at({"f", line, bytes}, "rule", "wrong")},
                                [&](const std::string&) { return text; });
    const auto& run = sarif["runs"][0];
    EXPECT_EQ(run["columnKind"], "unicodeCodePoints");
    return run["results"][0]["locations"][0]["physicalLocation"]["region"].value("startColumn", 0);
  };
  EXPECT_EQ(column(1, 3), 3);
  EXPECT_EQ(column(2, 1), 1);
  EXPECT_EQ(column(2, 5), 2);  // behind the character of four bytes
  EXPECT_EQ(column(2, 3), 1);  // within it
  EXPECT_EQ(column(2, 7), 4);
  EXPECT_EQ(column(3, 2), 2);  // between the letter and its accent
  EXPECT_EQ(column(3, 4), 3);
  EXPECT_EQ(column(3, 9), 5);  // behind the invalid byte
  EXPECT_EQ(column(4, 8), 8);
  EXPECT_EQ(column(4, 10), 10);  // the end of the file
  EXPECT_EQ(column(5, 1), 0);    // no such line: no column
}

TEST(SarifTest, ColumnsThatCantBeConvertedAreLeftOut) {
  const auto sarif =
      to_sarif({}, {error_at({"gone", 3, 5}, "rule", "wrong")},
               [](const std::string&) -> std::optional<std::string> { return std::nullopt; });
  const auto& region = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
  EXPECT_EQ(region["startLine"], 3);
  EXPECT_FALSE(region.contains("startColumn"));
}

TEST(JsonTextTest, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(json_text(nlohmann::ordered_json("\xff")), "\"\xEF\xBF\xBD\"\n");
}

}  // namespace
}  // namespace muster
