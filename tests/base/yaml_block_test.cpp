// The quick reader of YAML: what it reads is what the full parser reads, with the same places; what
// it leaves is left whole.
#include "base/yaml_block.h"

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/file_system.h"
#include "base/text.h"
#include "testing.h"
#include "yaml_same.h"
#include "yaml_texts.h"

namespace muster {
namespace {

/// Empty when both parsers agree, or when the quick one leaves the text to the other.
std::string difference(const std::string& text) {
  if (find_not_text(text, "f")) return {};
  const auto quick = parse_yaml_block(text, "f");
  if (!quick) return {};
  const auto full = parse_yaml_full(text, "f", false);
  if (!full) return "only the quick reader takes this: " + to_string(full.findings()[0]);
  return testing::is_same(*quick, *full) ? "" : "read as two different trees";
}

std::vector<std::string> repository_files() {
  std::vector<std::string> texts;
  namespace fs = std::filesystem;
  for (const char* folder : {"docs", "facts", "test_cases", "tests"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(testing::source_dir()) / folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".yaml" && extension != ".yml") continue;
      if (auto text = real_file_system().read(entry.path())) texts.push_back(*text);
    }
  }
  return texts;
}

TEST(YamlBlock, ReadsTheRepositoryAsTheFullParserDoes) {
  const auto texts = repository_files();
  std::size_t quick = 0;
  for (const std::string& text : texts) {
    EXPECT_EQ(difference(text), "") << text.substr(0, 400);
    quick += parse_yaml_block(text, "f").has_value() ? 1 : 0;
  }
  EXPECT_GT(texts.size(), 200U);
  EXPECT_GT(quick, texts.size() * 95 / 100);  // and nearly all of it
}

struct Form {
  const char* text;
  bool quick;
};

class YamlBlockForm : public ::testing::TestWithParam<Form> {};

TEST_P(YamlBlockForm, IsReadOrLeft) {
  EXPECT_EQ(parse_yaml_block(GetParam().text, "f").has_value(), GetParam().quick);
  EXPECT_EQ(difference(GetParam().text), "");
}

INSTANTIATE_TEST_SUITE_P(
    Read, YamlBlockForm,
    ::testing::Values(
        Form{"a: 1\n", true}, Form{"a: 1", true},
        Form{"- 1\n-\n- - x\n  - y\n- k: v\n  l:\n", true},
        Form{"# c\n---\na: b # c\n---\nc: d\n", true}, Form{"a:\n- x\n- y\nb: 1\n", true},
        Form{"a: |\n  x\n\n  y\n\n\nb: |-\n   z\n   # z\n# c\nc: |+\n  w\n\n\n", true},
        Form{"a: 'it''s'\nb: \"x\\\"\\n\\\\\"\n'k': v\n\"l\": w\n", true},
        Form{"a: [x, 'y', {k: v, \"l\": [1, 2]}]\nb: {}\nc: []\nd: http://x:1/y#z\n", true},
        Form{"a: ~\nb: null\nc: -1\nd: --x=y\ne: a:b\nf: é\n", true},
        Form{"a:\n\n  # c\n  b:\n    - c: 1\n      d: 2\n    - e\n", true},
        Form{"a:\nb:\n  c:\n", true}, Form{"a:\n  - b:\n---\nc:\n# end\n", true},
        Form{"a:   # c\n  b: c  \n", true},
        Form{"a: [x, # c\n\n  y,\n   {b: c\n  , d: [e]}\n  ]\nf:\n  - [1,\n     2]\n", true}));

INSTANTIATE_TEST_SUITE_P(
    Left, YamlBlockForm,
    ::testing::Values(
        Form{"", true}, Form{"a: &x 1\nb: *x\n", false}, Form{"a: !t b\n", false},
        Form{"a: >\n  x\n", false}, Form{"a: x\n  y\n", false}, Form{"a: [x\n  y]\n", false},
        Form{"a: [x,\ny]\n", false}, Form{"a: {b:\n  c}\n", false}, Form{"a: 1\na: 2\n", false},
        Form{"a: b: c\n", false}, Form{"a:\tb\n", false}, Form{"a: 1\r\n", false},
        Form{"? a\n: b\n", false}, Form{"---\n---\na: 1\n", false},
        Form{"%YAML 1.2\n---\na: 1\n", false}, Form{"a: 1\n...\n", false}, Form{"  a: 1\n", false},
        Form{"a:\n    b: 1\n  c: 2\n", false}, Form{"text\n", false},
        Form{"a: \"x\n  y\"\n", false}, Form{"a: \"\\x41\"\n", false}, Form{"a: |2\n   x\n", false},
        Form{"a: |\n  x", false}, Form{"a: |+\n  x\n ", false}, Form{"null: 1\n", false},
        Form{"a: [b: c]\n", false}, Form{"a: 'x' y\n", false}));

RC_GTEST_PROP(YamlBlockProperty, AgreesOnTextsOfItsPieces, ()) {
  const auto piece = rc::gen::element<std::string>(
      "a", "b", "c d", "key", ":", ": ", ": ", ":\n", "- ", "- ", "-", "\n", "\n", "\n  ", "\n    ",
      "  ", " ", "|", "|-\n", "|+\n", "|\n", "'", "\"", "''", "\\", "\\n", "#", " # c", "[", "]",
      "{", "}", ", ", ",", "~", "null", "---\n", "\n---\n", "?", "é", "1", "-1", "x: y\n", "- x\n",
      "- k: v\n", "%", "&a", "*a", "!t", "\t", "...", ">");
  const auto pieces = *rc::gen::container<std::vector<std::string>>(piece);
  std::string text;
  for (const std::string& one : pieces) text += one;
  if (const std::string wrong = difference(text); !wrong.empty()) RC_FAIL(wrong + "\n" + text);
}

// Many, each time the same: tabs, marks, plain scalars that only look plain, anchors, tags, keys
// that are no words or stand twice, byte order marks, carriage returns, deep nesting.
TEST(YamlBlock, AgreesOnTextsOfAGrammar) {
  std::mt19937 random(20240229);
  int quick = 0;
  constexpr int kTexts = 30'000;
  for (int i = 0; i < kTexts; ++i) {
    std::vector<std::uint16_t> choices(random() % 120);
    for (auto& choice : choices) choice = static_cast<std::uint16_t>(random());
    const std::string text = testing::yaml_text(choices);
    ASSERT_EQ(difference(text), "") << text;
    if (!find_not_text(text, "f") && parse_yaml_block(text, "f")) ++quick;
  }
  EXPECT_GT(quick, kTexts / 20);  // many are what the quick reader takes
  EXPECT_LT(quick, kTexts / 2);   // and many are what it has to leave
}

RC_GTEST_PROP(YamlBlockProperty, AgreesOnDamagedFiles, ()) {
  static const auto kTexts = repository_files();
  std::string text = *rc::gen::elementOf(kTexts);
  // A short piece of it is as good as the whole, and quicker.
  const auto from = *rc::gen::inRange<std::size_t>(0, text.size());
  const auto start = text.rfind('\n', from);
  text = text.substr(start == std::string::npos ? 0 : start + 1, 600);
  const auto indent = text.find_first_not_of(' ');
  if (indent != std::string::npos && indent > 0) {
    // As if it stood at the top.
    std::string moved;
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find('\n', at), text.size() - 1);
      const auto spaces = std::min(text.find_first_not_of(' ', at), end);
      moved += text.substr(std::min(at + indent, spaces), end + 1 - std::min(at + indent, spaces));
      at = end + 1;
    }
    text = moved;
  }
  for (int i = *rc::gen::inRange(0, 4); i > 0 && !text.empty(); --i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto put =
        *rc::gen::element<std::string>("", " ", "  ", "\n", ":", ": ", "- ", "#", " #", "'", "\"",
                                       "|", "[", "{", "]", "}", ",", "---\n", "\n\n", "é");
    text.replace(at, *rc::gen::inRange<std::size_t>(0, 3), put);
  }
  if (const std::string wrong = difference(text); !wrong.empty()) RC_FAIL(wrong + "\n" + text);
}

}  // namespace
}  // namespace muster
