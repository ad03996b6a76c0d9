#include "base/schema.h"

#include <gtest/gtest.h>

#include "fixture.h"

namespace muster::catalog {
namespace {

Schema sample() {
  return Schema::object(
      "Sample",
      {{"name", Schema::text("Name").required()},
       {"size", Schema::text("Size").form(kSize)},
       {"count",
        Schema::integer("Count").at_least(1).at_most(9).or_word("auto").defaults_to("auto")},
       {"ratio", Schema::number("Ratio").defaults_to("0.5")},
       {"on", Schema::boolean("On").defaults_to("true")},
       {"color", Schema::text("Color").one_of({"red", "green"})},
       {"tags", Schema::list("Tags", Schema::text("Tag")).at_most(2)},
       {"labels", Schema::map("Labels", Schema::integer("Number"))},
       {"group", Schema::object("Group", {{"depth", Schema::integer("Depth").defaults_to("3")}})},
       {"extra", Schema::object("Extra", {{"depth", Schema::integer("Depth").defaults_to("4")}})
                     .optional_group()}});
}

std::vector<std::string> rules(const std::string& text) {
  std::vector<std::string> names;
  for (const Finding& finding : sample().check(parsed(text), "s"))
    names.push_back(finding.rule + ":" + std::to_string(finding.where.line));
  return names;
}

using Names = std::vector<std::string>;

TEST(Schema, AcceptsWhatItDescribes) {
  EXPECT_EQ(rules("{name: a}"), Names());
  EXPECT_EQ(rules("{name: 1.10, size: 64Gi, count: 3, ratio: 1, on: false, color: red, tags: [x, "
                  "y], labels: {a: 1}, group: {}, extra: {depth: 1}}"),
            Names());
  EXPECT_EQ(rules("{name: a, count: auto, group: null}"), Names());
}

TEST(Schema, FindsEveryMistakeWithItsLine) {
  EXPECT_EQ(rules("size: 1\n"), Names{"s-missing-key:1"});
  EXPECT_EQ(rules("name: a\nnam: b\n"), Names{"s-unknown-key:2"});
  EXPECT_EQ(rules("name: a\nsize: huge\n"), Names{"s-form:2"});
  EXPECT_EQ(rules("name: a\ncount: 10\n"), Names{"s-range:2"});
  EXPECT_EQ(rules("name: a\ncount: some\n"), Names{"s-type:2"});
  EXPECT_EQ(rules("name: a\ncount: 1.5\n"), Names{"s-type:2"});
  EXPECT_EQ(rules("name: a\ncount: \"3\"\n"), Names{"s-type:2"});
  EXPECT_EQ(rules("name: a\nratio: .nan\n"), Names{"s-range:2"});
  EXPECT_EQ(rules("name: a\non: yes\n"), Names{"s-type:2"});
  EXPECT_EQ(rules("name: a\ncolor: blue\n"), Names{"s-choice:2"});
  EXPECT_EQ(rules("name: a\ntags: [x, y, z]\n"), Names{"s-range:2"});
  EXPECT_EQ(rules("name: a\ntags: x\n"), Names{"s-type:2"});
  EXPECT_EQ(rules("name: a\nlabels:\n  a: b\n"), Names{"s-type:3"});
  EXPECT_EQ(rules("name: a\ngroup:\n  depht: 1\n"), Names{"s-unknown-key:3"});
  EXPECT_EQ(rules("name: [a]\nsize: x\non: 1\n"), (Names{"s-type:1", "s-form:2", "s-type:3"}));
  EXPECT_EQ(rules("[a]"), Names{"s-type:1"});
}

TEST(Schema, DefaultsFillWhatIsAbsent) {
  const Node full = sample().with_defaults(parsed("name: a\nextra: {}\n"));
  EXPECT_EQ(text_at(full, "count"), "auto");
  EXPECT_EQ(number_at(full, "ratio"), 0.5);
  EXPECT_EQ(boolean_at(full, "on"), true);
  EXPECT_EQ(integer_at(full, "group.depth"), 3);
  EXPECT_EQ(integer_at(full, "extra.depth"), 4);
  EXPECT_EQ(node_at(full, "size"), nullptr);
  EXPECT_EQ(node_at(sample().with_defaults(parsed("name: a\n")), "extra"), nullptr);
}

TEST(Schema, JsonIsTypedByTheSchema) {
  const auto json = sample().to_json(
      parsed("{name: 1.10, count: 3, ratio: 1, on: true, tags: [2], labels: {a: 1}}"));
  EXPECT_EQ(json["name"], "1.10");
  EXPECT_EQ(json["count"], 3);
  EXPECT_EQ(json["on"], true);
  EXPECT_EQ(json["tags"][0], "2");
  EXPECT_EQ(json["labels"]["a"], 1);
}

TEST(Schema, JsonSchemaSaysTheSame) {
  const auto schema = sample().json_schema("id", "title");
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["required"], nlohmann::ordered_json({"name"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["color"]["enum"],
            nlohmann::ordered_json({"red", "green", nullptr}));
  EXPECT_EQ(schema["properties"]["tags"]["maxItems"], 2);
  EXPECT_EQ(schema["properties"]["count"]["default"], "auto");
  EXPECT_EQ(schema["properties"]["count"]["anyOf"][0]["maximum"], 9);
  EXPECT_EQ(schema["properties"]["group"]["properties"]["depth"]["default"], 3);
}

TEST(Schema, OverlayRequiresNothing) {
  EXPECT_TRUE(sample().as_overlay().check(parsed("{count: 3}"), "s").empty());
  EXPECT_EQ(sample().as_overlay().with_defaults(parsed("{count: 3}")).entries().size(), 1u);
}

TEST(Durations, UnitsAndMistakes) {
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("1.5m"), 90);
  EXPECT_EQ(parse_duration("6h"), 21600);
  EXPECT_EQ(parse_duration("2d"), 172800);
  EXPECT_EQ(parse_duration("250ms"), 0.25);
  for (const char* text : {"", "s", "90", "90 x", "-1s", "1..5s", "90sec"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

TEST(Sizes, UnitsAndMistakes) {
  EXPECT_EQ(parse_size("80 GiB"), 80.0 * (1LL << 30));
  EXPECT_EQ(parse_size("64Gi"), 64.0 * (1LL << 30));
  EXPECT_EQ(parse_size("1kB"), 1000);
  EXPECT_EQ(parse_size("1KiB"), 1024);
  EXPECT_EQ(parse_size("5"), 5);
  EXPECT_EQ(parse_size("2T"), 2e12);
  for (const char* text : {"", "GiB", "1 XiB", "1Gib", "1iB", "-1G"})
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
}

}  // namespace
}  // namespace muster::catalog
