#include "yaml_texts.h"

#include <cstddef>
#include <string_view>

namespace muster::testing {
namespace {

/// Mostly plain words, and every one that only looks like one.
const std::vector<std::string> kScalars = {"a",
                                           "b",
                                           "c d",
                                           "1",
                                           "-1",
                                           "0x1F",
                                           "1e3",
                                           ".inf",
                                           "true",
                                           "2001-01-01",
                                           "~",
                                           "null",
                                           "NULL",
                                           "'x'",
                                           "'it''s'",
                                           "\"x\"",
                                           "\"a\\n\\\"b\"",
                                           "\"\\x41\"",
                                           "\"\\u00e9\"",
                                           "\"\\ \"",
                                           "\"\"",
                                           "''",
                                           "\"a\tb\"",
                                           "'a # b'",
                                           "'a: b'",
                                           "'x' y",
                                           "'x'#y",
                                           "'x",
                                           "\"x",
                                           "a: b",
                                           "a:",
                                           "a:b",
                                           ":a",
                                           ":",
                                           "a #b",
                                           "a#b",
                                           "a\t#b",
                                           "a\tb",
                                           "-",
                                           "- a",
                                           "-a",
                                           "--",
                                           "---",
                                           "--- a",
                                           "---a",
                                           "...",
                                           "... a",
                                           "?",
                                           "? a",
                                           "?a",
                                           "&x",
                                           "&x a",
                                           "*x",
                                           "!t",
                                           "!t a",
                                           "!!str 1",
                                           "! a",
                                           "@a",
                                           "`a",
                                           "%a",
                                           "a%",
                                           "a, b",
                                           "a]",
                                           "a}",
                                           "]",
                                           "}",
                                           ",",
                                           "{",
                                           "[",
                                           "a'b",
                                           "a\"b",
                                           "<<",
                                           "=",
                                           "|",
                                           ">",
                                           "|a",
                                           "| a",
                                           "\xC3\xA9",
                                           "a\xC2\xA0"
                                           "b",
                                           "a\xC2\x85"
                                           "b",
                                           "a\xE2\x80\xA8"
                                           "b",
                                           "\xEF\xBB\xBF"
                                           "a",
                                           "a\xEF\xBB\xBF",
                                           "\xEF\xBB\xBF",
                                           "\\",
                                           "a\\",
                                           "#a",
                                           "# a",
                                           "",
                                           "a\\\\b",
                                           "http://x:1/y#z"};

const std::vector<std::string> kKeys = {"a",
                                        "b",
                                        "c",
                                        "d",
                                        "e",
                                        "a",
                                        "key",
                                        "1",
                                        "1.5",
                                        "-1",
                                        "true",
                                        "null",
                                        "~",
                                        "a b",
                                        "'a'",
                                        "\"a\"",
                                        "'b'",
                                        "\"c\\n\"",
                                        "\"\\x61\"",
                                        "&x a",
                                        "!t a",
                                        "*x",
                                        "? a",
                                        "?a",
                                        "<<",
                                        "-a",
                                        "- a",
                                        "a:b",
                                        ":a",
                                        "a#",
                                        "a #",
                                        "[a]",
                                        "{a: b}",
                                        "[",
                                        "\xC3\xA9",
                                        "a'",
                                        "\"a\" ",
                                        "a ",
                                        "a\t",
                                        "",
                                        "|",
                                        "%a",
                                        "@a",
                                        "---",
                                        "...",
                                        "\xEF\xBB\xBF"
                                        "a",
                                        "a]",
                                        "a,",
                                        "''",
                                        "\"\""};

const std::vector<std::string> kFlowScalars = {"a",
                                               "b",
                                               "1",
                                               "'x'",
                                               "\"y\"",
                                               "c d",
                                               "~",
                                               "",
                                               "-",
                                               "-1",
                                               "- a",
                                               "a:b",
                                               "a:",
                                               ":a",
                                               ":",
                                               "?",
                                               "? a",
                                               "?a",
                                               "a#b",
                                               "a #b",
                                               "#a",
                                               "&x a",
                                               "*x",
                                               "!t a",
                                               "a'b",
                                               "a?b",
                                               "|",
                                               ">",
                                               "@a",
                                               "%a",
                                               "\"a\\\"b\"",
                                               "'it''s'",
                                               "---",
                                               "...",
                                               "\t",
                                               "a\tb",
                                               "\xEF\xBB\xBF"
                                               "a",
                                               "a \n b",
                                               "\n a",
                                               "\n",
                                               "\xC2\x85",
                                               "'a\n  b'",
                                               "x{",
                                               "x[",
                                               "[",
                                               "{",
                                               "http://x:1/y#z",
                                               "'x'y",
                                               "\"x\":y",
                                               "'x':1",
                                               "<<",
                                               "=",
                                               "!",
                                               "&",
                                               "*"};

class Writer {
 public:
  explicit Writer(const std::vector<std::uint16_t>& choices) : choices_(choices) {}

  std::string stream() {
    put({"", "", "", "---\n", "# c\n", "--- ", "---\t", "--- # c\n", "%YAML 1.2\n---\n",
         "\xEF\xBB\xBF", "...\n", "---\n---\n", "\t\n", "\n", "  \n", "--- |\n", "---a\n"});
    for (std::size_t documents = 1 + pick(8) / 6; documents > 0; --documents) {
      block(pick(12) == 11 ? 2 : 0, 0);
      if (documents > 1) put({"---\n", "--- # c\n", "...\n---\n", "...\n", "--- a\n", "---\t\n"});
    }
    put({"", "", "", "", "...\n", "---\n", "# c", "  ", "\t", "...", "---", "\n\n", "a", "... a\n",
         "---a\n", "]", "\xEF\xBB\xBF"});
    if (pick(16) == 15 && !text_.empty() && text_.back() == '\n') text_.pop_back();
    return std::move(text_);
  }

 private:
  std::size_t pick(std::size_t count) {
    return next_ < choices_.size() ? choices_[next_++] % count : 0;
  }
  void put(const std::vector<std::string>& words) { text_ += words[pick(words.size())]; }
  void pad(int indent) { text_.append(static_cast<std::size_t>(indent > 0 ? indent : 0), ' '); }

  /// Of three times, one that is odd.
  void put_mostly(const std::vector<std::string>& words, std::size_t plain) {
    text_ += words[pick(3) == 2 ? pick(words.size()) : pick(plain)];
  }

  void end_line() {
    put_mostly({"\n", "\n\n", " # c\n", "# c\n", "  \n", "\t\n", "\t# c\n", "\n# c\n", "\n  # c\n",
                "\n  \n", "\n\t\n", "\r\n", "\r", "\n      \n", " #\n", "\n         # c\n"},
               3);
  }

  void block(int indent, int depth) {
    const bool sequence = pick(3) == 2;
    for (std::size_t items = 1 + pick(3); items > 0; --items) {
      // Now and then a column beside the others'.
      const std::size_t off = pick(24);
      pad(indent + (off == 23 ? 1 : off == 22 ? -1 : 0));
      item(indent, depth, sequence);
    }
  }

  void item(int indent, int depth, bool sequence) {
    if (sequence) {
      put_mostly({"- ", "-  ", "-", "-\t", "- - ", "- -", "-   - "}, 1);
      if (pick(3) == 1 && depth < 4) return item(indent + 2, depth + 1, pick(2) == 1);
    } else {
      put_mostly(kKeys, 5);
      put_mostly({": ", ":", ":\t", " : ", ":  ", " ", ": : ", ":\n: "}, 1);
    }
    value(indent, depth);
  }

  void value(int indent, int depth) {
    switch (pick(8)) {
      case 0:
      case 1:
      case 2:
        put_mostly(kScalars, 10);
        end_line();
        if (pick(16) == 15) continued(indent);
        break;
      case 3:
      case 4:
        put_mostly({"", "", " ", "# c", " # c", "&x", "!t", "\t", "&x # c", "!t\n"}, 2);
        end_line();
        if (depth < 4) block(indent + static_cast<int>(pick(4)), depth + 1);
        break;
      case 5:
      case 6:
        put_mostly({"", "&x ", "!t ", "*x ", "!!map ", "\n      "}, 1);
        flow(indent, 0);
        put_mostly({"", " ", "a", " a", ":", ": a", ",", "]", " ]", "\n  a"}, 1);
        end_line();
        break;
      default:
        scalar_lines(indent);
    }
  }

  void continued(int indent) {
    pad(indent + static_cast<int>(pick(4)));
    put_mostly(kScalars, 10);
    end_line();
  }

  void scalar_lines(int indent) {
    put_mostly({"|", "|-", "|+", ">", ">-", "|2", "|-1", "|1-", "|a", "|#", "|0", "!t |", "&x |"},
               3);
    put_mostly({"\n", " # c\n", "  \n", "# c\n", "\t\n", " #\n", "\r\n", " a\n", "\n\n"}, 1);
    const int inner = indent + static_cast<int>(pick(4));
    for (std::size_t lines = pick(5); lines > 0; --lines) {
      const std::size_t off = pick(12);
      pad(inner + (off == 11 ? 1 : off == 10 ? -1 : 0));
      put_mostly({"x", "y: z", "", "# c", "- x", "\tx", "x\t", "x ", " ", "---", "...", "'", "\t",
                  "\xEF\xBB\xBF", "\xC2\x85", "x\r", "]", "%a"},
                 2);
      put_mostly({"\n", "\n\n", "\n ", "\n   \n", "\n\t\n", "\n        \n"}, 1);
    }
  }

  void flow(int indent, int depth) {
    if (depth == 0 && pick(40) == 39) {  // very deep
      const std::size_t levels = 90 + pick(30);
      text_.append(levels, '[');
      text_ += 'a';
      text_.append(levels, ']');
      return;
    }
    const bool mapping = pick(2) == 1;
    text_ += mapping ? '{' : '[';
    for (std::size_t items = pick(4); items > 0; --items) {
      if (mapping) {
        put_mostly(kFlowScalars, 5);
        put_mostly({": ", ":", " : ", ":  ", "", ":\t", ":\n   ", "\n   : ", " "}, 1);
      }
      if (pick(4) == 3 && depth < 3) {
        flow(indent, depth + 1);
      } else {
        put_mostly(kFlowScalars, 6);
      }
      if (items == 1 && pick(8) != 7) break;
      put_mostly({", ", ",", " , ", ",\n        ", ",,", ", # c\n    ", ",#c\n", "\n ,", ",\n",
                  ",\t", " # c\n   ,", ";"},
                 4);
    }
    put_mostly({"", " ", "\n        ", "\n", "\t", " # c\n      ", "# c\n      "}, 1);
    text_ += mapping ? '}' : ']';
  }

  const std::vector<std::uint16_t>& choices_;
  std::size_t next_ = 0;
  std::string text_;
};

}  // namespace

std::string yaml_text(const std::vector<std::uint16_t>& choices) {
  return Writer(choices).stream();
}

}  // namespace muster::testing
