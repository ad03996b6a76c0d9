#include "metrics/exposition.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/words.h"

namespace muster::metrics {
namespace {

std::string escaped(std::string_view text, bool quotes) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\\\";
    else if (c == '\n')
      result += "\\n";
    else if (c == '"' && quotes)
      result += "\\\"";
    else
      result += c;
  }
  return result;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  // Counters are whole and large: as digits, not as 1e+15.
  if (value == std::floor(value) && std::abs(value) < 9e15)
    return fmt::format("{}", static_cast<long long>(value));
  return fmt::format("{}", value);
}

bool is_name(std::string_view text, bool colons) {
  if (text.empty()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !(digit && i > 0) && !(c == ':' && colons)) return false;
  }
  return true;
}

/// One sample: its metric and labels, as one key; empty: the line is wrong, and how.
std::string sample_key(std::string_view line, std::string& name, std::string& wrong) {
  std::size_t at = line.find_first_of("{ \t");
  name = line.substr(0, at);
  if (!is_name(name, true)) {
    wrong = fmt::format("\"{}\" is no name of a metric", name);
    return {};
  }
  std::string key = name;
  std::set<std::string> labels;
  if (at != std::string_view::npos && line[at] == '{') {
    ++at;
    while (at < line.size() && line[at] != '}') {
      const std::size_t equals = line.find('=', at);
      const std::string label(
          trimmed(line.substr(at, equals == std::string_view::npos ? 0 : equals - at)));
      if (!is_name(label, false) || equals + 1 >= line.size() || line[equals + 1] != '"') {
        wrong = fmt::format("\"{}\" is no label", line.substr(at));
        return {};
      }
      std::size_t end = equals + 2;
      while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
      if (end >= line.size()) {
        wrong = "a label's value does not end";
        return {};
      }
      if (!labels.insert(fmt::format("{}={}", label, line.substr(equals + 2, end - equals - 2)))
               .second) {
        wrong = fmt::format("the label {} twice", label);
        return {};
      }
      at = end + 1;
      if (at < line.size() && line[at] == ',') ++at;
    }
    if (at >= line.size()) {
      wrong = "the labels do not end";
      return {};
    }
    ++at;
  }
  const auto words = words_of(at == std::string_view::npos ? std::string_view() : line.substr(at));
  if (words.empty() || words.size() > 2) {
    wrong = "a value, and maybe a time, has to follow";
    return {};
  }
  const std::string value(words[0]);
  if (!finite(value) && value != "NaN" && value != "+Inf" && value != "-Inf") {
    wrong = fmt::format("\"{}\" is no value", value);
    return {};
  }
  for (const std::string& label : labels) key += "|" + label;
  return key;
}

}  // namespace

const char* to_string(Type type) {
  return type == Type::kCounter ? "counter" : "gauge";
}

std::string metric_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
    name += fits ? c : '_';
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "_");
  return name;
}

void Exposition::add(const std::string& name, Type type, const std::string& help, Labels labels,
                     double value) {
  auto metric = std::find_if(metrics_.begin(), metrics_.end(),
                             [&](const Metric& one) { return one.name == name; });
  if (metric == metrics_.end()) {
    metrics_.push_back({name, help, type, {}});
    metric = metrics_.end() - 1;
  }
  metric->samples[std::move(labels)] = value;
}

std::string Exposition::text() const {
  std::string text;
  for (const Metric& metric : metrics_) {
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", metric.name, escaped(metric.help, false),
                        metric.name, to_string(metric.type));
    for (const auto& [labels, value] : metric.samples) {
      text += metric.name;
      std::string inside;
      for (const auto& [label, content] : labels)
        inside +=
            fmt::format("{}{}=\"{}\"", inside.empty() ? "" : ",", label, escaped(content, true));
      if (!inside.empty()) text += "{" + inside + "}";
      text += " " + number(value) + "\n";
    }
  }
  return text;
}

std::size_t Exposition::samples() const {
  std::size_t count = 0;
  for (const Metric& metric : metrics_) count += metric.samples.size();
  return count;
}

bool Exposition::has(std::string_view name) const {
  return std::any_of(metrics_.begin(), metrics_.end(),
                     [&](const Metric& metric) { return metric.name == name; });
}

Findings check_exposition(std::string_view text, const std::string& file) {
  Findings findings;
  std::set<std::string> samples, helped, typed, left;
  std::string now;
  int line_number = 0;
  const auto wrong = [&](const std::string& what) {
    findings.push_back(error_at({file, line_number, 1}, "exposition", what));
  };
  // All lines of a metric are together.
  const auto enter = [&](const std::string& name) {
    if (name == now) return;
    if (!now.empty()) left.insert(now);
    if (left.count(name) > 0) wrong(fmt::format("lines of {} are not together", name));
    now = name;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    ++line_number;
    if (end == text.size()) wrong("the last line does not end");
    at = end + 1;
    if (trimmed(line).empty()) continue;
    if (line.find('\r') != std::string_view::npos) wrong("a carriage return");
    if (line[0] == '#') {
      const auto words = words_of(line);
      if (words.size() < 3 || (words[1] != "HELP" && words[1] != "TYPE")) continue;
      const std::string name(words[2]);
      if (!is_name(name, true)) wrong(fmt::format("\"{}\" is no name of a metric", name));
      enter(name);
      if (words[1] == "HELP") {
        if (!helped.insert(name).second) wrong(fmt::format("a second HELP of {}", name));
        continue;
      }
      if (!typed.insert(name).second) wrong(fmt::format("a second TYPE of {}", name));
      const std::set<std::string_view> types = {"counter", "gauge", "histogram", "summary",
                                                "untyped"};
      if (words.size() != 4 || types.count(words[3]) == 0) wrong("a type that is none");
      continue;
    }
    std::string name, what;
    const std::string key = sample_key(line, name, what);
    if (key.empty()) {
      wrong(what);
      continue;
    }
    enter(name);
    if (!samples.insert(key).second) wrong("the same sample twice");
  }
  return findings;
}

}  // namespace muster::metrics
