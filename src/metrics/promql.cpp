#include "metrics/promql.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/document.h"

namespace muster::metrics {
namespace {

constexpr std::array kAggregations = {"sum",          "min",     "max",    "avg",
                                      "group",        "stddev",  "stdvar", "count",
                                      "count_values", "bottomk", "topk",   "quantile"};

const std::vector<std::string> kFunctions = {"abs",
                                             "absent",
                                             "absent_over_time",
                                             "avg_over_time",
                                             "ceil",
                                             "changes",
                                             "clamp",
                                             "clamp_max",
                                             "clamp_min",
                                             "count_over_time",
                                             "delta",
                                             "deriv",
                                             "exp",
                                             "floor",
                                             "histogram_quantile",
                                             "idelta",
                                             "increase",
                                             "irate",
                                             "label_join",
                                             "label_replace",
                                             "last_over_time",
                                             "ln",
                                             "log10",
                                             "log2",
                                             "max_over_time",
                                             "min_over_time",
                                             "predict_linear",
                                             "present_over_time",
                                             "quantile_over_time",
                                             "rate",
                                             "resets",
                                             "round",
                                             "scalar",
                                             "sgn",
                                             "sort",
                                             "sort_desc",
                                             "sqrt",
                                             "stddev_over_time",
                                             "sum_over_time",
                                             "time",
                                             "timestamp",
                                             "vector"};

/// Nesting of an expression; deeper ones are refused, not followed.
constexpr int kMaxDepth = 100;

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Token {
  enum class Kind { kEnd, kName, kNumber, kText, kSign };
  Kind kind = Kind::kEnd;
  std::string text;
  std::size_t at = 0;
};

struct Operator {
  const char* text;
  int strength;
  bool words;
};

constexpr std::array<Operator, 16> kOperators = {{{"or", 1, true},
                                                  {"and", 2, true},
                                                  {"unless", 2, true},
                                                  {"==", 3, false},
                                                  {"!=", 3, false},
                                                  {"<=", 3, false},
                                                  {"<", 3, false},
                                                  {">=", 3, false},
                                                  {">", 3, false},
                                                  {"+", 4, false},
                                                  {"-", 4, false},
                                                  {"*", 5, false},
                                                  {"/", 5, false},
                                                  {"%", 5, false},
                                                  {"atan2", 5, true},
                                                  {"^", 6, false}}};

class Parser {
 public:
  Parser(std::string_view text, const Position& where) : text_(text), where_(where) { next(); }

  Result<Promql> parse() {
    auto tree = binary(1, 0);
    if (tree && now_.kind != Token::Kind::kEnd) fail("nothing may follow here", now_.at);
    if (!tree || wrong_) return Failure(*wrong_);
    return std::move(*tree);
  }

 private:
  using Tree = std::optional<Promql>;

  void fail(const std::string& what, std::size_t at) {
    if (!wrong_) wrong_ = error_at(place_of(where_, at), "promql-syntax", what);
  }
  Tree failed(const std::string& what, std::size_t at) {
    fail(what, at);
    return std::nullopt;
  }

  void next() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string::npos)
      ++at_;
    now_ = {Token::Kind::kEnd, {}, at_};
    if (at_ >= text_.size()) return;
    const char c = text_[at_];
    std::size_t end = at_ + 1;
    if (begins_name(c)) {
      while (end < text_.size() && (begins_name(text_[end]) || is_digit(text_[end]))) ++end;
      now_.kind = Token::Kind::kName;
    } else if (is_digit(c) || (c == '.' && end < text_.size() && is_digit(text_[end]))) {
      while (end < text_.size() &&
             (is_digit(text_[end]) || begins_name(text_[end]) || text_[end] == '.' ||
              ((text_[end] == '+' || text_[end] == '-') &&
               (text_[end - 1] == 'e' || text_[end - 1] == 'E'))))
        ++end;
      now_.kind = Token::Kind::kNumber;
    } else if (c == '"' || c == '\'' || c == '`') {
      return quoted(c);
    } else {
      now_.kind = Token::Kind::kSign;
      const std::string_view two = text_.substr(at_, 2);
      for (const char* sign : {"==", "!=", "<=", ">=", "=~", "!~"}) {
        if (two == sign) end = at_ + 2;
      }
    }
    now_.text = text_.substr(at_, end - at_);
    at_ = end;
  }

  void quoted(char quote) {
    std::string value;
    std::size_t end = at_ + 1;
    for (; end < text_.size() && text_[end] != quote; ++end) {
      if (quote != '`' && text_[end] == '\\' && end + 1 < text_.size()) ++end;
      value += text_[end];
    }
    if (end >= text_.size()) fail("a text does not end", at_);
    now_ = {Token::Kind::kText, std::move(value), at_};
    at_ = std::min(end + 1, text_.size());
  }

  bool is(std::string_view sign) const {
    return (now_.kind == Token::Kind::kSign || now_.kind == Token::Kind::kName) &&
           now_.text == sign;
  }
  bool take(std::string_view sign) {
    if (!is(sign)) return false;
    next();
    return true;
  }
  bool expect(std::string_view sign) {
    if (take(sign)) return true;
    fail(fmt::format("\"{}\" is missing", sign), now_.at);
    return false;
  }

  const Operator* op() const {
    for (const Operator& one : kOperators) {
      const auto kind = one.words ? Token::Kind::kName : Token::Kind::kSign;
      if (now_.kind == kind && now_.text == one.text) return &one;
    }
    return nullptr;
  }

  Tree binary(int strength, int depth) {
    if (depth > kMaxDepth) return failed("nested too deeply", now_.at);
    Tree left = sign(depth + 1);
    while (left) {
      const Operator* found = op();
      if (found == nullptr || found->strength < strength) return left;
      Promql tree;
      tree.kind = Promql::Kind::kBinary;
      tree.name = found->text;
      tree.at = now_.at;
      next();
      if (!matching(tree)) return std::nullopt;
      // ^ binds to the right, all else to the left.
      Tree right = binary(found->strength == 6 ? 6 : found->strength + 1, depth + 1);
      if (!right) return std::nullopt;
      tree.operands = {std::move(*left), std::move(*right)};
      left = std::move(tree);
    }
    return left;
  }

  bool matching(Promql& tree) {
    tree.yields_bool = take("bool");
    if (!is("on") && !is("ignoring")) return true;
    tree.modifier = now_.text;
    next();
    if (!words(tree.labels)) return false;
    if (!is("group_left") && !is("group_right")) return true;
    tree.group = now_.text;
    next();
    return !is("(") || words(tree.included);
  }

  bool words(std::vector<Promql::Word>& to) {
    if (!expect("(")) return false;
    while (now_.kind == Token::Kind::kName) {
      to.push_back({now_.text, now_.at});
      next();
      if (!take(",")) break;
    }
    return expect(")");
  }

  Tree sign(int depth) {
    if (!is("-") && !is("+")) return postfix(depth);
    Promql tree;
    tree.kind = Promql::Kind::kSign;
    tree.name = now_.text;
    tree.at = now_.at;
    next();
    Tree inner = binary(6, depth + 1);  // -2^2 is -(2^2)
    if (!inner) return std::nullopt;
    tree.operands.push_back(std::move(*inner));
    return tree;
  }

  Tree postfix(int depth) {
    Tree tree = primary(depth);
    while (tree) {
      if (is("[")) {
        if (!tree->range.empty()) return failed("a range of a range", now_.at);
        if (!range(*tree)) return std::nullopt;
      } else if (is("offset") || is("@")) {
        next();
        take("-");
        if (now_.kind == Token::Kind::kEnd) return failed("a time is missing", now_.at);
        next();
      } else {
        break;
      }
    }
    return tree;
  }

  // The brackets' content as it stands: a duration, a variable, both parts of a subquery.
  bool range(Promql& tree) {
    const std::size_t start = now_.at;
    const std::size_t end = text_.find(']', start);
    if (end == std::string_view::npos) {
      fail("a range does not end", start);
      return false;
    }
    tree.range = text_.substr(start + 1, end - start - 1);
    if (tree.range.empty() || !(is_digit(tree.range[0]) || tree.range[0] == '$')) {
      fail(fmt::format("\"{}\" is no duration", tree.range), start);
      return false;
    }
    at_ = end + 1;
    next();
    return true;
  }

  Tree primary(int depth) {
    Promql tree;
    tree.at = now_.at;
    tree.name = now_.text;
    switch (now_.kind) {
      case Token::Kind::kNumber:
        next();
        return tree;
      case Token::Kind::kText:
        tree.kind = Promql::Kind::kText;
        next();
        return tree;
      case Token::Kind::kName:
        return named(std::move(tree), depth);
      case Token::Kind::kSign:
        break;
      case Token::Kind::kEnd:
        return failed("an expression is missing", now_.at);
    }
    if (take("(")) {
      Tree inner = binary(1, depth + 1);
      if (!inner || !expect(")")) return std::nullopt;
      return inner;
    }
    if (!is("{")) return failed(fmt::format("\"{}\" begins no expression", now_.text), now_.at);
    tree.name.clear();
    return selector(std::move(tree));
  }

  Tree named(Promql tree, int depth) {
    if (op() != nullptr)
      return failed(fmt::format("\"{}\" begins no expression", now_.text), now_.at);
    next();
    if (is_aggregation(tree.name) && (is("(") || is("by") || is("without")))
      return aggregate(std::move(tree), depth);
    if (is("(")) {
      tree.kind = Promql::Kind::kCall;
      if (std::find(kFunctions.begin(), kFunctions.end(), tree.name) == kFunctions.end()) {
        const auto meant = did_you_mean(tree.name, kFunctions);
        return failed(fmt::format("unknown function \"{}\"{}", tree.name,
                                  meant ? fmt::format(", did you mean \"{}\"?", *meant) : ""),
                      tree.at);
      }
      if (!arguments(tree, depth)) return std::nullopt;
      return tree;
    }
    std::string lower = tree.name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (lower == "inf" || lower == "nan") return tree;
    return selector(std::move(tree));
  }

  Tree aggregate(Promql tree, int depth) {
    tree.kind = Promql::Kind::kAggregate;
    if (!grouping(tree) || !arguments(tree, depth)) return std::nullopt;
    if (tree.modifier.empty() && !grouping(tree)) return std::nullopt;
    return tree;
  }

  bool grouping(Promql& tree) {
    if (!is("by") && !is("without")) return true;
    tree.modifier = now_.text;
    next();
    return words(tree.labels);
  }

  bool arguments(Promql& tree, int depth) {
    if (!expect("(")) return false;
    while (!is(")")) {
      Tree argument = binary(1, depth + 1);
      if (!argument) return false;
      tree.operands.push_back(std::move(*argument));
      if (!take(",")) break;
    }
    return expect(")");
  }

  Tree selector(Promql tree) {
    tree.kind = Promql::Kind::kSelector;
    if (!take("{")) return tree;
    while (now_.kind == Token::Kind::kName) {
      Promql::Matcher matcher;
      matcher.label = now_.text;
      matcher.at = now_.at;
      next();
      if (!is("=") && !is("!=") && !is("=~") && !is("!~"))
        return failed(fmt::format("what \"{}\" has to be is missing", matcher.label), now_.at);
      matcher.op = now_.text;
      next();
      if (now_.kind != Token::Kind::kText) return failed("a value in quotes is missing", now_.at);
      matcher.value = now_.text;
      next();
      tree.matchers.push_back(std::move(matcher));
      if (!take(",")) break;
    }
    if (!expect("}")) return std::nullopt;
    if (tree.name.empty() && tree.matchers.empty())
      return failed("a selector of everything", tree.at);
    return tree;
  }

  std::string_view text_;
  Position where_;
  std::size_t at_ = 0;
  Token now_;
  std::optional<Finding> wrong_;
};

}  // namespace

Position place_of(const Position& where, std::size_t offset) {
  Position place = where;
  if (place.column > 0) place.column += static_cast<int>(offset);
  return place;
}

bool is_aggregation(std::string_view name) {
  return std::find(kAggregations.begin(), kAggregations.end(), name) != kAggregations.end();
}

bool is_comparison(std::string_view op) {
  return op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=";
}

Result<Promql> parse_promql(std::string_view text, const Position& where) {
  return Parser(text, where).parse();
}

std::vector<std::string> variables_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
    std::size_t start = at + 1;
    if (start < text.size() && text[start] == '{') ++start;
    std::size_t end = start;
    while (end < text.size() && text[end] != ':' && (begins_name(text[end]) || is_digit(text[end])))
      ++end;
    const std::string name(text.substr(start, end - start));
    if (name.empty() || name.starts_with("__") || is_digit(name[0])) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace muster::metrics
