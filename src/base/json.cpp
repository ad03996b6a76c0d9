// JSON by RFC 8259, strictly. Written out because the libraries at hand drop the places of values.
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/document.h"
#include "base/text.h"

namespace muster {
namespace {

constexpr int kMaxDepth = 256;

struct Stop {
  Finding finding;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Node document() {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") fail("starts with a byte order mark; JSON has none");
    skip_space();
    Node node = value(0);
    skip_space();
    if (at_ < text_.size()) fail("text after the end of the document");
    return node;
  }

 private:
  Position here() const { return {file_, line_, static_cast<int>(at_ - line_start_) + 1}; }

  [[noreturn]] void fail(const std::string& message, std::string rule = "json-syntax") const {
    throw Stop{error_at(here(), std::move(rule), "not valid JSON: " + message)};
  }

  bool ended() const { return at_ >= text_.size(); }
  char peek() const { return ended() ? '\0' : text_[at_]; }

  void skip_space() {
    for (; !ended(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  std::string seen() const {
    if (ended()) return "the end of the text";
    const unsigned char c = static_cast<unsigned char>(text_[at_]);
    if (c > 0x20 && c < 0x7F) return fmt::format("'{}'", text_[at_]);
    return fmt::format("byte 0x{:02x}", c);
  }

  Node value(int depth) {
    if (depth > kMaxDepth)
      fail(fmt::format("nested deeper than {} levels", kMaxDepth), "json-too-deep");
    Position where = here();
    switch (peek()) {
      case '{':
        return object(depth, where);
      case '[':
        return array(depth, where);
      case '"':
        return Node::scalar(string(), true, where);
      case 't':
        return word("true", Node::scalar("true", false, where));
      case 'f':
        return word("false", Node::scalar("false", false, where));
      case 'n':
        return word("null", Node::null(where));
      default:
        return number(where);
    }
  }

  Node word(std::string_view expected, Node node) {
    if (text_.substr(at_, expected.size()) != expected)
      fail("a value was expected, found " + seen());
    at_ += expected.size();
    return node;
  }

  Node object(int depth, Position where) {
    std::vector<Node::Entry> entries;
    std::unordered_map<std::string, int> lines;
    ++at_;
    skip_space();
    if (peek() == '}') {
      ++at_;
      return Node::mapping({}, where);
    }
    while (true) {
      if (peek() != '"') fail("a key in double quotes was expected, found " + seen());
      Position key_at = here();
      std::string key = string();
      const auto [first, added] = lines.emplace(key, key_at.line);
      if (!added) {
        throw Stop{error_at(key_at, "json-duplicate-key", fmt::format("duplicate key '{}'", key),
                            "first given at line " + std::to_string(first->second))};
      }
      skip_space();
      if (peek() != ':') fail("':' was expected, found " + seen());
      ++at_;
      skip_space();
      entries.push_back({std::move(key), key_at, value(depth + 1)});
      if (!another('}')) return Node::mapping(std::move(entries), where);
    }
  }

  Node array(int depth, Position where) {
    std::vector<Node> items;
    ++at_;
    skip_space();
    if (peek() == ']') {
      ++at_;
      return Node::sequence({}, where);
    }
    while (true) {
      items.push_back(value(depth + 1));
      if (!another(']')) return Node::sequence(std::move(items), where);
    }
  }

  /// After an item: consumes ',' (true) or the closing character (false).
  bool another(char close) {
    skip_space();
    const char c = peek();
    if (c != ',' && c != close)
      fail(fmt::format("',' or '{}' was expected, found {}", close, seen()));
    ++at_;
    if (c == close) return false;
    skip_space();
    if (peek() == close) fail(fmt::format("',' before '{}'", close));
    return true;
  }

  Node number(Position where) {
    const std::size_t start = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      digits(start);
    }
    if (peek() == '.') {
      ++at_;
      digits(start);
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits(start);
    }
    return Node::scalar(std::string(text_.substr(start, at_ - start)), false, where);
  }

  void digits(std::size_t start) {
    const std::size_t first = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    if (at_ != first) return;
    fail((start == at_ ? "a value was expected, found " : "a digit was expected, found ") + seen());
  }

  std::string string() {
    std::string text;
    ++at_;
    while (true) {
      if (ended()) fail("text in quotes does not end");
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return text;
      }
      if (c == '\\') {
        escape(text);
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20) fail("control character in quotes: " + seen());
      const std::size_t length = utf8_length(text_, at_);
      if (length == 0) fail(seen() + " is not valid UTF-8", "text-encoding");
      text.append(text_, at_, length);
      at_ += length;
    }
  }

  void escape(std::string& text) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    if (at_ + 1 >= text_.size()) fail("text in quotes does not end");
    const char c = text_[at_ + 1];
    if (const auto index = kNames.find(c); index != std::string_view::npos) {
      text += kValues[index];
      at_ += 2;
      return;
    }
    if (c != 'u') fail("unknown escape in quotes");
    char32_t code = unit();
    if (code >= 0xDC00 && code <= 0xDFFF) fail("second half of a surrogate pair without the first");
    if (code >= 0xD800 && code <= 0xDBFF) {
      if (text_.substr(at_ + 6, 2) != "\\u")
        fail("first half of a surrogate pair without the second");
      at_ += 6;
      const char32_t low = unit();
      if (low < 0xDC00 || low > 0xDFFF) fail("first half of a surrogate pair without the second");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    at_ += 6;
    append_utf8(text, code);
  }

  /// The four hexadecimal digits of the \uXXXX at the current place, which is not moved.
  char32_t unit() const {
    char32_t code = 0;
    for (std::size_t i = at_ + 2; i < at_ + 6; ++i) {
      const char c = i < text_.size() ? text_[i] : '\0';
      code <<= 4;
      if (c >= '0' && c <= '9') {
        code |= static_cast<char32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        code |= static_cast<char32_t>(c - 'a' + 10);
      } else if (c >= 'A' && c <= 'F') {
        code |= static_cast<char32_t>(c - 'A' + 10);
      } else {
        fail("\\u needs four hexadecimal digits");
      }
    }
    return code;
  }

  std::string_view text_;
  FileName file_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace

Result<Node> parse_json(std::string_view text, const std::string& file) {
  try {
    return Parser(text, file).document();
  } catch (const Stop& stop) {
    return Failure(stop.finding);
  }
}

}  // namespace muster
