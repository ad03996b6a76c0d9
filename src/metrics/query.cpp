#include "metrics/query.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/document.h"

namespace muster::metrics {
namespace {

using Names = std::set<std::string, std::less<>>;

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// What a function makes of counters: how fast they rise, or whether they are there.
bool takes_counters(std::string_view function) {
  return one_of(function,
                {"rate", "irate", "increase", "resets", "changes", "absent", "absent_over_time",
                 "count_over_time", "present_over_time", "timestamp"});
}
bool needs_counters(std::string_view function) {
  return one_of(function, {"rate", "irate", "increase", "resets"});
}

class Checker {
 public:
  Checker(const Position& where, const KnownMetrics& known, CheckedQuery& to)
      : where_(where), known_(known), to_(to) {}

  /// `inside`: the function or aggregation that the expression is the operand of.
  Shape check(const Promql& tree, std::string_view inside) {
    switch (tree.kind) {
      case Promql::Kind::kNumber:
        return {};
      case Promql::Kind::kText:
        return {Shape::Kind::kText, {}, false};
      case Promql::Kind::kSign:
        return check(tree.operands[0], inside);
      case Promql::Kind::kSelector:
        return selector(tree, inside);
      case Promql::Kind::kCall:
        return call(tree);
      case Promql::Kind::kAggregate:
        return aggregate(tree);
      case Promql::Kind::kBinary:
        break;
    }
    return binary(tree, inside);
  }

 private:
  void wrong(std::size_t at, const char* rule, std::string message, std::string hint = {}) {
    to_.findings.push_back(
        error_at(place_of(where_, at), rule, std::move(message), std::move(hint)));
  }

  /// The metric that was meant; collectors put _total behind names and take it away.
  std::string closest(const std::string& name) const {
    constexpr std::string_view kTotal = "_total";
    const std::string other = name.ends_with(kTotal) ? name.substr(0, name.size() - kTotal.size())
                                                     : name + std::string(kTotal);
    if (known_.find(other) != nullptr) return fmt::format("did you mean \"{}\"?", other);
    return meant(name, known_.names());
  }

  static std::string meant(std::string_view word, const std::vector<std::string>& words) {
    const auto close = did_you_mean(word, words);
    return close ? fmt::format("did you mean \"{}\"?", *close) : std::string();
  }

  void unknown_label(const Promql::Word& label, const Shape& shape, const char* of) {
    if (shape.open) return;
    const std::vector<std::string> labels(shape.labels.begin(), shape.labels.end());
    std::string hint = meant(label.text, labels);
    if (hint.empty()) hint = fmt::format("labels: {}", fmt::join(labels, ", "));
    wrong(label.at, "query-label", fmt::format("{} has no label \"{}\"", of, label.text),
          std::move(hint));
  }

  Shape selector(const Promql& tree, std::string_view inside) {
    Shape shape;
    shape.kind = tree.range.empty() ? Shape::Kind::kVector : Shape::Kind::kRange;
    if (tree.name.empty()) {
      shape.open = true;
      wrong(tree.at, "query-metric", "a selector without the name of a metric");
      return shape;
    }
    const KnownMetric* metric = known_.find(tree.name);
    if (metric == nullptr) {
      shape.open = true;
      wrong(tree.at, "query-metric", fmt::format("no exporter has the metric \"{}\"", tree.name),
            closest(tree.name));
      return shape;
    }
    if (std::find(to_.metrics.begin(), to_.metrics.end(), tree.name) == to_.metrics.end())
      to_.metrics.push_back(tree.name);
    shape.labels.insert(metric->labels.begin(), metric->labels.end());
    if (!metric->exporters.empty())  // what a rule makes has no target
      shape.labels.insert(known_.target_labels().begin(), known_.target_labels().end());
    for (const Promql::Matcher& matcher : tree.matchers) {
      if (shape.labels.count(matcher.label) == 0)
        unknown_label({matcher.label, matcher.at}, shape, tree.name.c_str());
    }
    if (metric->type == "counter" && !takes_counters(inside) && !one_of(inside, {"count", "group"}))
      wrong(tree.at, "query-counter",
            fmt::format("{} only ever rises: its value says since when it is counted", tree.name),
            "use rate() or increase()");
    if (metric->type != "counter" && needs_counters(inside))
      wrong(tree.at, "query-counter",
            fmt::format("{}() of {}, which is no counter", inside, tree.name),
            "use delta() or deriv()");
    return shape;
  }

  Shape call(const Promql& tree) {
    Shape result;
    if (one_of(tree.name, {"time", "scalar"})) {
      for (const Promql& operand : tree.operands) check(operand, tree.name);
      return result;
    }
    for (const Promql& operand : tree.operands) {
      Shape shape = check(operand, tree.name);
      result.open = result.open || shape.open;
      if (shape.kind == Shape::Kind::kVector || shape.kind == Shape::Kind::kRange)
        result.labels = std::move(shape.labels);
    }
    result.kind = Shape::Kind::kVector;
    const auto text = [&](std::size_t number) {
      return number < tree.operands.size() ? tree.operands[number].name : std::string();
    };
    if (one_of(tree.name, {"label_replace", "label_join"})) result.labels.insert(text(1));
    if (tree.name == "histogram_quantile") result.labels.erase("le");
    if (one_of(tree.name, {"absent", "absent_over_time"}) && !tree.operands.empty())
      result.labels = absent(tree.operands[0]);
    return result;
  }

  // The labels that the selector fixes, which is all that absent() can know.
  Names absent(const Promql& tree) {
    Names labels;
    for (const Promql::Matcher& matcher : tree.matchers) {
      if (matcher.op != "=") continue;
      labels.insert(matcher.label);
      if (tree.name == "up" && matcher.label == "job") to_.absent_jobs.push_back(matcher.value);
    }
    return labels;
  }

  Shape aggregate(const Promql& tree) {
    Shape shape;
    for (const Promql& operand : tree.operands) {
      Shape one = check(operand, tree.name);
      if (one.kind == Shape::Kind::kVector) shape = std::move(one);
    }
    shape.kind = Shape::Kind::kVector;
    for (const Promql::Word& label : tree.labels) {
      if (shape.labels.count(label.text) == 0) unknown_label(label, shape, "what is aggregated");
    }
    if (one_of(tree.name, {"topk", "bottomk"})) return shape;
    Names kept;
    if (tree.modifier == "without") kept = shape.labels;
    for (const Promql::Word& label : tree.labels) {
      if (tree.modifier == "without")
        kept.erase(label.text);
      else
        kept.insert(label.text);
    }
    if (tree.name == "count_values" && !tree.operands.empty()) kept.insert(tree.operands[0].name);
    shape.labels = std::move(kept);
    return shape;
  }

  Shape binary(const Promql& tree, std::string_view inside) {
    Shape left = check(tree.operands[0], inside), right = check(tree.operands[1], inside);
    const bool vectors = left.kind == Shape::Kind::kVector && right.kind == Shape::Kind::kVector;
    if (!vectors) return left.kind == Shape::Kind::kVector ? left : right;
    left.open = left.open || right.open;
    const bool sets = one_of(tree.name, {"and", "or", "unless"});
    if (tree.name == "or" && tree.modifier.empty()) {
      left.labels.insert(right.labels.begin(), right.labels.end());
      return left;
    }
    if (tree.modifier == "on" || tree.modifier == "ignoring") named(tree, left, right);
    check_match(tree, left, right);
    if (sets) return left;
    if (tree.group == "group_right") std::swap(left.labels, right.labels);
    if (!tree.group.empty()) {
      for (const Promql::Word& label : tree.included) {
        if (right.labels.count(label.text) == 0) unknown_label(label, right, "the other side");
        left.labels.insert(label.text);
      }
      return left;
    }
    if (tree.modifier == "on") {
      left.labels.clear();
      for (const Promql::Word& label : tree.labels) left.labels.insert(label.text);
    }
    for (const Promql::Word& label : tree.labels) {
      if (tree.modifier == "ignoring") left.labels.erase(label.text);
    }
    return left;
  }

  void named(const Promql& tree, const Shape& left, const Shape& right) {
    for (const Promql::Word& label : tree.labels) {
      const bool here = left.labels.count(label.text) > 0,
                 there = right.labels.count(label.text) > 0;
      if (tree.modifier == "on" && !here) unknown_label(label, left, "the left side");
      if (tree.modifier == "on" && !there) unknown_label(label, right, "the right side");
      if (tree.modifier == "ignoring" && !here && !there)
        unknown_label(label, left, "neither side: the left one");
    }
  }

  // Without on or ignoring two series match when all their labels are alike.
  void check_match(const Promql& tree, const Shape& left, const Shape& right) {
    if (tree.modifier == "on" || left.open || right.open) return;
    Names one = left.labels, other = right.labels;
    for (const Promql::Word& label : tree.labels) {
      one.erase(label.text);
      other.erase(label.text);
    }
    if (one == other) return;
    Names differing;
    std::set_symmetric_difference(one.begin(), one.end(), other.begin(), other.end(),
                                  std::inserter(differing, differing.end()));
    Names shared;
    std::set_intersection(one.begin(), one.end(), other.begin(), other.end(),
                          std::inserter(shared, shared.end()));
    wrong(tree.at, "query-matching",
          fmt::format("no series of the two sides of \"{}\" match: only one has {}", tree.name,
                      fmt::join(differing, ", ")),
          shared.empty() ? "aggregate both by the same labels"
                         : fmt::format("e.g. {} on({})", tree.name, fmt::join(shared, ", ")));
  }

  Position where_;
  const KnownMetrics& known_;
  CheckedQuery& to_;
};

}  // namespace

CheckedQuery check_query(std::string_view text, const Position& where, const KnownMetrics& known) {
  CheckedQuery checked;
  checked.variables = variables_in(text);
  const auto tree = parse_promql(text, where);
  if (!tree) {
    checked.findings = tree.findings();
    return checked;
  }
  checked.shape = Checker(where, known, checked).check(*tree, {});
  return checked;
}

}  // namespace muster::metrics
