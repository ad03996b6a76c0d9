#include "base/document.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/schema.h"
#include "base/text.h"

namespace muster {
namespace {

Node yaml(const std::string& text) {
  auto document = parse_yaml(text, "f");
  EXPECT_TRUE(document) << to_string(document.findings()[0]);
  return *document;
}

std::string first_error(const Result<Node>& document) {
  return document ? "" : to_string(document.findings()[0]);
}

TEST(YamlTest, KeepsThePlaceOfEveryKeyAndValue) {
  const Node root = yaml("a: 1\nb:\n  - x\n  - {c: d}\n\"q\":   |\n  text\n");
  EXPECT_EQ(root.where(), (Position{"f", 1, 1}));
  EXPECT_EQ(root.entries()[1].where, (Position{"f", 2, 1}));
  const Node& list = root.entries()[1].value;
  EXPECT_EQ(list.where(), (Position{"f", 3, 3}));
  EXPECT_EQ(list.items()[1].where(), (Position{"f", 4, 5}));
  EXPECT_EQ(list.items()[1].entries()[0].where, (Position{"f", 4, 6}));
  EXPECT_EQ(list.items()[1].entries()[0].value.where(), (Position{"f", 4, 9}));
  EXPECT_EQ(root.entries()[2].where, (Position{"f", 5, 1}));
  EXPECT_EQ(root.find("q")->text(), "text\n");
}

TEST(YamlTest, ScalarsKeepTheirTextAndAreReadByTheCoreRules) {
  const Node root = yaml(
      "[1.10, 007, yes, true, \"5\", ~, .inf, -.inf, .nan, 1e3, 0x10, 12345678901234567890, +7, "
      "!!str 8]");
  const auto& items = root.items();
  EXPECT_EQ(items[0].text(), "1.10");
  EXPECT_EQ(items[0].as_double(), 1.1);
  EXPECT_EQ(items[1].as_int(), 7);
  EXPECT_EQ(items[2].as_bool(), std::nullopt);
  EXPECT_EQ(items[3].as_bool(), true);
  EXPECT_EQ(items[4].as_int(), std::nullopt);
  EXPECT_TRUE(items[5].is_null());
  EXPECT_TRUE(std::isinf(*items[6].as_double()));
  EXPECT_LT(*items[7].as_double(), 0);
  EXPECT_TRUE(std::isnan(*items[8].as_double()));
  EXPECT_EQ(items[9].as_double(), 1000);
  EXPECT_EQ(items[9].as_int(), std::nullopt);
  EXPECT_EQ(items[10].as_int(), std::nullopt);
  EXPECT_EQ(items[11].as_int(), std::nullopt);  // does not fit
  EXPECT_EQ(items[12].as_int(), 7);
  EXPECT_EQ(items[13].as_int(), std::nullopt);
  EXPECT_STREQ(items[0].type_name(), "number");
  EXPECT_STREQ(items[1].type_name(), "integer");
  EXPECT_STREQ(items[4].type_name(), "text");
}

TEST(YamlTest, KeepsExplicitTags) {
  const Node root = yaml("a: !Ref Name\nb: !Sub {x: 1}\nc: !GetAtt [p, q]\nd: plain\n");
  EXPECT_EQ(root.find("a")->tag(), "!Ref");
  EXPECT_EQ(root.find("b")->tag(), "!Sub");
  EXPECT_EQ(root.find("c")->tag(), "!GetAtt");
  EXPECT_EQ(root.find("d")->tag(), "");
}

TEST(YamlTest, ExpandsAliases) {
  const Node root = yaml("a: &x {k: 1}\nb: *x\n");
  EXPECT_EQ(root.find("b")->find("k")->as_int(), 1);
}

TEST(YamlTest, EmptyIsNullAndStreamsAreSplit) {
  EXPECT_TRUE(yaml("").is_null());
  EXPECT_TRUE(yaml("# only a comment\n").is_null());
  const auto stream = parse_yaml_stream("a: 1\n---\nb: 2\n---\n", "f");
  ASSERT_TRUE(stream);
  ASSERT_EQ(stream->size(), 3U);
  EXPECT_EQ((*stream)[1].where().line, 3);
  EXPECT_TRUE((*stream)[2].is_null());
}

TEST(YamlTest, AMalformedEndingIsNoEndlessStream) {
  const auto stream = parse_yaml_stream(" ,\nb : &b: 1\n...!map\nb: ~", "f");
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.findings()[0].rule, "yaml-syntax");
}

struct Bad {
  std::string text;
  const char* message;
};

class YamlErrorTest : public ::testing::TestWithParam<Bad> {};

TEST_P(YamlErrorTest, IsLocated) {
  const std::string error = first_error(parse_yaml(GetParam().text, "f"));
  EXPECT_EQ(error.rfind(GetParam().message, 0), 0U) << error;
}

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

/// Nine levels of ten references each: a billion nodes from a few lines.
std::string billion_laughs() {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1) + ", ";
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeated(alias, 9) +
            "*a" + std::to_string(i - 1) + "]\n";
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    All, YamlErrorTest,
    ::testing::Values(
        Bad{"a: 1\nb: 2\na: 3\n", "f:3:1: error: duplicate key 'a'; first given at line 1"},
        Bad{"a: [1, 2\nb: 3\n", "f:2:2: error: not valid YAML"},  //
        Bad{"a: b: c\n", "f:1:5: error: not valid YAML"},         //
        Bad{"a: 1\n\tb: 2\n", "f:2:1: error: not valid YAML"},    //
        Bad{"[a]: 1\n", "f:1:1: error: a key must be text"},      //
        Bad{"a: 1\n---\nb: 2\n", "f:2:1: error: a second document"},
        Bad{"a: &x [*x]\n", "f:1:8: error: alias refers to a node that contains it"},
        Bad{"a: *nobody\n", "f:1:4: error: not valid YAML"},
        Bad{"a: \"\xff\"\n", "f:1:5: error: byte 0xff is not valid UTF-8"},
        Bad{std::string("a: \0b\n", 6), "f:1:4: error: control character 0x00"},
        Bad{repeated("[", 300) + repeated("]", 300), "f:1:257: error: nested deeper than 256"},
        Bad{repeated("[", 100000), "f:1:"},  //
        Bad{billion_laughs(), "f:6:"}));

TEST(JsonTest, KeepsPlacesAndTexts) {
  const auto root = parse_json(
      "{\n  \"a\": [1.10, true, null],\n  \"b\" : \"\\u00e9\\ud83d\\ude00\\n\"\n}\n", "f");
  ASSERT_TRUE(root) << first_error(root);
  EXPECT_EQ(root->entries()[0].where, (Position{"f", 2, 3}));
  EXPECT_EQ(root->find("a")->where(), (Position{"f", 2, 8}));
  EXPECT_EQ(root->find("a")->items()[0].text(), "1.10");
  EXPECT_EQ(root->find("a")->items()[1].as_bool(), true);
  EXPECT_TRUE(root->find("a")->items()[2].is_null());
  EXPECT_EQ(root->find("b")->text(), "é😀\n");
  EXPECT_TRUE(root->find("b")->quoted());
}

class JsonErrorTest : public ::testing::TestWithParam<Bad> {};

TEST_P(JsonErrorTest, IsLocated) {
  const std::string error = first_error(parse_json(GetParam().text, "f"));
  EXPECT_EQ(error.rfind(GetParam().message, 0), 0U) << error;
}

INSTANTIATE_TEST_SUITE_P(
    All, JsonErrorTest,
    ::testing::Values(
        Bad{"", "f:1:1: error: not valid JSON: a value was expected, found the end"},
        Bad{"{\"a\": 1,\n \"a\": 2}", "f:2:2: error: duplicate key 'a'; first given at line 1"},
        Bad{"[1,\n2,]", "f:2:3: error: not valid JSON: ',' before ']'"},
        Bad{"[01]", "f:1:3: error: not valid JSON: ',' or ']' was expected"},
        Bad{"[1.]", "f:1:4: error: not valid JSON: a digit was expected"},
        Bad{"[-]", "f:1:3: error: not valid JSON: a digit"},  //
        Bad{"[.5]", "f:1:2: error: not valid JSON: a value"},
        Bad{"[1e]", "f:1:4: error: not valid JSON: a digit"},  //
        Bad{"[NaN]", "f:1:2: error: not valid JSON: a value"},
        Bad{"{a: 1}", "f:1:2: error: not valid JSON: a key in double quotes"},
        Bad{"[1] x", "f:1:5: error: not valid JSON: text after the end"},
        Bad{"[\"a\nb\"]", "f:1:4: error: not valid JSON: control character"},
        Bad{"[\"\\x\"]", "f:1:3: error: not valid JSON: unknown escape"},
        Bad{"[\"\\ud800\"]", "f:1:3: error: not valid JSON: first half"},
        Bad{"[\"\\udc00\"]", "f:1:3: error: not valid JSON: second half"},
        Bad{"[\"\\u12g4\"]", "f:1:3: error: not valid JSON: \\u needs"},
        Bad{"[\"abc", "f:1:6: error: not valid JSON: text in quotes does not end"},
        Bad{"[\"\xc3\"]", "f:1:3: error: not valid JSON: byte 0xc3"},
        Bad{"\xEF\xBB\xBF[]", "f:1:1: error: not valid JSON: starts with a byte order mark"},
        Bad{repeated("[", 100000), "f:1:258: error: not valid JSON: nested deeper"},
        Bad{"// no\n[]", "f:1:1: error: not valid JSON: a value was expected, found '/'"}));

/// Any JSON value with distinct keys and valid text.
nlohmann::json arbitrary_json(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 4);
  const auto text = [] {
    std::string result;
    for (const char32_t code : *rc::gen::container<std::u32string>(
             rc::gen::element<char32_t>(U'a', U'0', U'"', U'\\', U'\n', U'\t', U'\x01', U'é', U'中',
                                        U'😀', U'/', U' ', U':', U'#', U'-'))) {
      append_utf8(result, code);
    }
    return result;
  };
  switch (kind) {
    case 0:
      return nullptr;
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
      return *rc::gen::arbitrary<std::int64_t>();
    case 3:
      return text();
    case 4: {
      nlohmann::json list = nlohmann::json::array();
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) list.push_back(arbitrary_json(depth - 1));
      return list;
    }
    default: {
      nlohmann::json object = nlohmann::json::object();
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) object[text()] = arbitrary_json(depth - 1);
      return object;
    }
  }
}

nlohmann::json to_json_value(const Node& node) {
  if (node.is_null()) return nullptr;
  if (node.is_sequence()) {
    nlohmann::json list = nlohmann::json::array();
    for (const Node& item : node.items()) list.push_back(to_json_value(item));
    return list;
  }
  if (node.is_mapping()) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& entry : node.entries()) object[entry.key] = to_json_value(entry.value);
    return object;
  }
  if (node.quoted()) return node.text();
  if (const auto flag = node.as_bool()) return *flag;
  if (const auto number = node.as_int()) return *number;
  return node.text();  // a word that needs no quotes
}

RC_GTEST_PROP(JsonProperty, ParsesWhatNlohmannWrites, ()) {
  const nlohmann::json value = arbitrary_json(3);
  const auto parsed =
      parse_json(value.dump(*rc::gen::inRange(-1, 4), ' ', *rc::gen::arbitrary<bool>()), "f");
  RC_ASSERT(parsed.ok());
  RC_ASSERT(to_json_value(*parsed) == value);
}

bool out_of_range_for_nlohmann(const std::string& text) {
  try {
    return nlohmann::json::parse(text).is_discarded();  // never: without exceptions only
  } catch (const nlohmann::json::out_of_range&) {
    return true;
  } catch (const nlohmann::json::parse_error&) {
    return false;
  }
}

RC_GTEST_PROP(JsonProperty, AcceptsExactlyWhatNlohmannAccepts, ()) {
  // Damage one byte of a valid document: both parsers must agree (theirs takes duplicate keys, ours
  // says so).
  std::string text = arbitrary_json(3).dump();
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = *rc::gen::element('{', '}', '[', ']', '"', ',', ':', '\\', '1', '-', 'e', '.', ' ',
                               '\x01', '\xc3');
  // 10e0000308 is JSON, but no double: theirs refuses it when parsing, ours when it is read as a
  // number.
  if (out_of_range_for_nlohmann(text)) RC_DISCARD("a number that no double holds");
  const auto parsed = parse_json(text, "f");
  const bool duplicate = !parsed && parsed.findings()[0].rule == "json-duplicate-key";
  RC_ASSERT(duplicate || parsed.ok() == nlohmann::json::accept(text));
}

TEST(YamlWriter, QuotesWhatReadersOfYaml11TakeForABoolean) {
  for (const char* word : {"y", "Y", "n", "N", "yes", "No", "on", "OFF", "true"})
    EXPECT_EQ(to_yaml(Node::mapping({{"k", {}, Node::scalar(word, true, {})}}, {})),
              std::string("k: \"") + word + "\"\n");
  EXPECT_EQ(to_yaml(Node::mapping({{"k", {}, Node::scalar("yam", true, {})}}, {})), "k: yam\n");
}

RC_GTEST_PROP(YamlProperty, ReadsBackWhatIsWritten, ()) {
  const nlohmann::json value = arbitrary_json(3);
  const auto node = parse_json(value.dump(), "f");
  RC_ASSERT(node.ok());
  const std::string text = to_yaml(*node);
  const auto parsed = parse_yaml(text, "g");
  if (!parsed) RC_FAIL(text + to_string(parsed.findings()[0]));
  RC_ASSERT(to_json_value(*parsed) == value);
}

/// Positions point at the very text: a key's place is where its text starts.
void check_places(const Node& node, const std::string& text,
                  const std::vector<std::size_t>& line_starts) {
  const auto text_at = [&](const Position& where) {
    return std::string_view(text).substr(line_starts[static_cast<std::size_t>(where.line) - 1] +
                                         static_cast<std::size_t>(where.column) - 1);
  };
  for (const auto& entry : node.entries()) {
    RC_ASSERT(text_at(entry.where).substr(0, entry.key.size()) == entry.key);
    check_places(entry.value, text, line_starts);
  }
  for (const Node& item : node.items()) check_places(item, text, line_starts);
  if (node.is_scalar())
    RC_ASSERT(text_at(node.where()).substr(0, node.text().size()) == node.text());
}

RC_GTEST_PROP(YamlProperty, PlacesAreExact, ()) {
  // Plain words only, so that a scalar's text is what stands in the document.
  std::string text;
  const int keys = *rc::gen::inRange(1, 6);
  for (int key = 0; key < keys; ++key) {
    text += std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 3)), '\n');
    text += "key" + std::to_string(key) + ":";
    if (*rc::gen::arbitrary<bool>()) {
      text += std::string(static_cast<std::size_t>(*rc::gen::inRange(1, 4)), ' ') + "value" +
              std::to_string(key) + "  # note\n";
    } else {
      text += "\n  - é" + std::to_string(key) + "\n  - {in: deep}\n";
    }
  }
  std::vector<std::size_t> line_starts = {0};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts.push_back(i + 1);
  }
  const auto parsed = parse_yaml(text, "f");
  RC_ASSERT(parsed.ok());
  check_places(*parsed, text, line_starts);
}

TEST(DidYouMeanTest, FindsTypingErrorsOnly) {
  const std::vector<std::string> words = {"list", "show", "validate", "render", "cancel"};
  EXPECT_EQ(did_you_mean("lsit", words), "list");
  EXPECT_EQ(did_you_mean("vaildate", words), "validate");
  EXPECT_EQ(did_you_mean("SHOW", words), "show");
  EXPECT_EQ(did_you_mean("cancell", words), "cancel");
  EXPECT_EQ(did_you_mean("deploy", words), std::nullopt);
  EXPECT_EQ(did_you_mean("x", {"y"}), std::nullopt);
  EXPECT_EQ(did_you_mean("", words), std::nullopt);
  EXPECT_EQ(did_you_mean(std::string(100000, 'a'), words), std::nullopt);
}

RC_GTEST_PROP(DidYouMeanProperty, UndoesOneSwapOrDrop, ()) {
  const std::vector<std::string> words = {"activation_checkpointing", "micro_batch", "precision",
                                          "strategy"};
  const std::string word = *rc::gen::elementOf(words);
  std::string typed = word;
  const auto at = *rc::gen::inRange<std::size_t>(0, word.size() - 1);
  if (*rc::gen::arbitrary<bool>()) {
    std::swap(typed[at], typed[at + 1]);
  } else {
    typed.erase(at, 1);
  }
  RC_ASSERT(did_you_mean(typed, words) == word);
}

}  // namespace
}  // namespace muster
