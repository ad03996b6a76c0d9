// PromQL, Prometheus' query language, read into a tree: enough of it to say which metrics and
// labels an expression names, which labels its result has, and what in it can never match.
// Prometheus itself stays the judge of its grammar; what this accepts it may still refuse.
//
// Grafana's variables may stand where Grafana puts text: in the values of matchers and in ranges
// ([$__rate_interval]).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "base/result.h"

namespace muster::metrics {

struct Promql {
  enum class Kind { kNumber, kText, kSelector, kCall, kAggregate, kBinary, kSign };

  struct Word {
    std::string text;
    std::size_t at = 0;
  };
  struct Matcher {
    std::string label, op, value;
    std::size_t at = 0;
  };

  Kind kind = Kind::kNumber;
  std::size_t at = 0;             ///< offset in the text
  std::string name;               ///< metric (may be empty), function or operator; of a text it
  std::vector<Matcher> matchers;  ///< of a selector
  std::string range;              ///< what stands in brackets behind it; empty: an instant
  std::string modifier;           ///< of an aggregate by, without; of a binary on, ignoring
  std::vector<Word> labels;       ///< of the modifier
  std::string group;              ///< group_left, group_right of a binary
  std::vector<Word> included;     ///< labels of the group
  bool yields_bool = false;       ///< a comparison that gives 0 and 1 instead of filtering
  std::vector<Promql> operands;
};

/// `where` is the place of the text's first character, for findings (rule `promql-syntax`).
Result<Promql> parse_promql(std::string_view text, const Position& where);

/// The place of an offset in a text that starts at `where` and has no line breaks.
Position place_of(const Position& where, std::size_t offset);

/// "sum", "topk", …
bool is_aggregation(std::string_view name);
bool is_comparison(std::string_view op);

/// Names of Grafana's variables in a text: $name, ${name}, ${name:format}; without its built-in
/// ones (__…).
std::vector<std::string> variables_in(std::string_view text);

}  // namespace muster::metrics
