#include "metrics/exposition.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

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

void write_sample(std::string& to, std::string_view name, const Labels& labels, double value) {
  to += name;
  if (!labels.empty()) {
    char before = '{';
    for (const auto& [label, content] : labels) {
      to += before;
      to += label;
      to += "=\"";
      if (content.find_first_of("\\\"\n") == std::string::npos) {
        to += content;
      } else {
        to += escaped(content, true);
      }
      to += '"';
      before = ',';
    }
    to += '}';
  }
  to += ' ';
  to += number(value);
  to += '\n';
}

constexpr std::string_view kTotal = "_total";

/// The name and type that a metric's lines carry.
std::pair<std::string_view, const char*> head_of(std::string_view name, Type type, Form form) {
  if (form == Form::kText) return {name, to_string(type)};
  if (type == Type::kCounter && name.size() > kTotal.size() && name.ends_with(kTotal))
    return {name.substr(0, name.size() - kTotal.size()), "counter"};
  const bool unknown = type == Type::kCounter || type == Type::kUntyped;
  return {name, unknown ? "unknown" : to_string(type)};
}

}  // namespace

const char* to_string(Type type) {
  constexpr const char* kNames[] = {"gauge", "counter", "untyped", "histogram", "summary"};
  return kNames[static_cast<int>(type)];
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

Exposition::Metric& Exposition::metric(const std::string& name, Type type,
                                       const std::string& help) {
  const auto [place, is_new] = places_.try_emplace(name, metrics_.size());
  if (is_new) metrics_.push_back({name, help, type, {}, {}});
  return metrics_[place->second];
}

void Exposition::add(const std::string& name, Type type, const std::string& help, Labels labels,
                     double value) {
  metric(name, type, help).samples[std::move(labels)] = value;
}

void Exposition::add_part(const std::string& name, Type type, const std::string& help,
                          const std::string& sample, const Labels& labels, double value) {
  metric(name, type, help).parts.push_back({sample, labels, value});
}

void Exposition::add_missing(Exposition&& other, const std::set<std::string, std::less<>>& taken) {
  for (Metric& one : other.metrics_) {
    if (has(one.name) || taken.count(one.name) > 0) continue;
    places_[one.name] = metrics_.size();
    metrics_.push_back(std::move(one));
  }
}

void Exposition::merge(const Exposition& other) {
  for (const Metric& one : other.metrics_) {
    Metric& to = metric(one.name, one.type, one.help);
    if (to.type != one.type) continue;  // one metric has one type: the first
    for (const auto& [labels, value] : one.samples) to.samples[labels] = value;
    for (const Part& part : one.parts) {
      const bool here = std::any_of(to.parts.begin(), to.parts.end(), [&](const Part& own) {
        return own.name == part.name && own.labels == part.labels;
      });
      if (!here) to.parts.push_back(part);
    }
  }
}

std::string Exposition::text(Form form) const {
  std::string text;
  text.reserve(samples() * 80);
  for (const Metric& metric : metrics_) {
    const auto [name, type] = head_of(metric.name, metric.type, form);
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name,
                        escaped(metric.help, form == Form::kOpenMetrics), type);
    for (const auto& [labels, value] : metric.samples)
      write_sample(text, metric.name, labels, value);
    for (const Part& part : metric.parts) write_sample(text, part.name, part.labels, part.value);
  }
  return text;
}

std::size_t Exposition::samples() const {
  std::size_t count = 0;
  for (const Metric& metric : metrics_) count += metric.samples.size() + metric.parts.size();
  return count;
}

bool Exposition::has(std::string_view name) const {
  return places_.find(name) != places_.end();
}

std::vector<std::string> Exposition::names() const {
  std::vector<std::string> names;
  names.reserve(metrics_.size());
  for (const Metric& metric : metrics_) names.push_back(metric.name);
  return names;
}

}  // namespace muster::metrics
