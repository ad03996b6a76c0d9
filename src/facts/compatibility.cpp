#include "facts/compatibility.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/version.h"

namespace muster::facts {
namespace {

struct Condition {
  std::string_view comparison;  // empty: starts with
  std::string version;
};

std::optional<std::vector<Condition>> conditions_of(const std::string& range) {
  std::vector<Condition> conditions;
  std::size_t at = 0;
  while (at <= range.size()) {
    const std::size_t comma = std::min(range.find(',', at), range.size());
    std::string_view text = std::string_view(range).substr(at, comma - at);
    Condition condition;
    for (const std::string_view comparison : {">=", "<=", ">", "<"}) {
      if (!text.starts_with(comparison)) continue;
      condition.comparison = comparison;
      text.remove_prefix(comparison.size());
      break;
    }
    condition.version = text;
    if (!compare_versions(condition.version, "0")) return std::nullopt;
    conditions.push_back(std::move(condition));
    at = comma + 1;
  }
  return conditions;
}

// "2.4" for 2.4.0 and 2.4, not for 2.40.
bool starts_with_version(const std::string& version, const std::string& start) {
  return version.starts_with(start) &&
         (version.size() == start.size() || version[start.size()] == '.' ||
          version[start.size()] == '-');
}

bool holds(const std::string& version, int order, const Condition& condition) {
  if (condition.comparison == ">=") return order >= 0;
  if (condition.comparison == "<=") return order <= 0;
  if (condition.comparison == ">") return order > 0;
  if (condition.comparison == "<") return order < 0;
  return order == 0 || starts_with_version(version, condition.version);
}

std::string place(const Position& where) {
  return where.line == 0 ? std::string() : fmt::format(" ({}:{})", where.file.str(), where.line);
}

class Check {
 public:
  Check(const Selection& selection, const VersionCatalog& catalog)
      : selection_(selection), catalog_(catalog) {}

  Findings run() {
    for (const Compatibility& row : catalog_.compatibility) {
      const std::optional<std::string> why = cause(row);
      if (!why) continue;
      for (const auto& [component, range] : row.needs) need(row, *why, component, range);
      compare_same(row);
    }
    return std::move(findings_);
  }

 private:
  // What makes the row apply, in words; nothing when it does not.
  std::optional<std::string> cause(const Compatibility& row) {
    std::vector<std::string> words;
    if (!row.gpus.empty()) {
      const auto gpu =
          std::find_if(selection_.gpus.begin(), selection_.gpus.end(),
                       [&](const std::string& model) { return is_among(model, row.gpus); });
      if (gpu == selection_.gpus.end()) return std::nullopt;
      words.push_back("GPU " + *gpu);
    }
    for (const auto& [component, range] : row.when) {
      const auto chosen = selection_.versions.find(component);
      if (chosen == selection_.versions.end()) return std::nullopt;
      const auto inside = in_range(chosen->second.version, range);
      if (!inside) {
        unverified(row, component, chosen->second, range);
        return std::nullopt;
      }
      if (!*inside) return std::nullopt;
      words.push_back(
          fmt::format("{} {}{}", component, chosen->second.version, place(chosen->second.where)));
    }
    return fmt::format("{}", fmt::join(words, " and "));
  }

  bool is_among(const std::string& model, const std::vector<std::string>& gpus) const {
    const Gpu* known = catalog_.find_gpu(model);
    return std::any_of(gpus.begin(), gpus.end(), [&](const std::string& name) {
      return name == model || (known && name == known->generation);
    });
  }

  void need(const Compatibility& row, const std::string& why, const std::string& component,
            const std::string& range) {
    const auto chosen = selection_.versions.find(component);
    if (chosen == selection_.versions.end()) return;
    const auto inside = in_range(chosen->second.version, range);
    if (!inside) return unverified(row, component, chosen->second, range);
    if (*inside) return;
    findings_.push_back(error_at(
        chosen->second.where, "version-clash",
        fmt::format("{} needs {} {}, not {}", why, component, range, chosen->second.version),
        row.reason + place(row.where)));
  }

  void compare_same(const Compatibility& row) {
    const Chosen* first = nullptr;
    std::string first_name;
    for (const std::string& component : row.same) {
      const auto chosen = selection_.versions.find(component);
      if (chosen == selection_.versions.end()) continue;
      if (!first) {
        first = &chosen->second;
        first_name = component;
      } else if (first->version != chosen->second.version) {
        findings_.push_back(
            error_at(chosen->second.where, "version-clash",
                     fmt::format("{} {} is not {} {}{}", component, chosen->second.version,
                                 first_name, first->version, place(first->where)),
                     row.reason + place(row.where)));
      }
    }
  }

  void unverified(const Compatibility& row, const std::string& component, const Chosen& chosen,
                  const std::string& range) {
    findings_.push_back(
        warning_at(chosen.where, "version-unverified",
                   fmt::format("can't compare {} \"{}\" with {}", component, chosen.version, range),
                   row.reason + place(row.where)));
  }

  const Selection& selection_;
  const VersionCatalog& catalog_;
  Findings findings_;
};

}  // namespace

bool is_range(const std::string& text) {
  return conditions_of(text).has_value();
}

std::optional<bool> in_range(const std::string& version, const std::string& range) {
  const auto conditions = conditions_of(range);
  if (!conditions) return std::nullopt;
  for (const Condition& condition : *conditions) {
    const auto order = compare_versions(version, condition.version);
    if (!order) return std::nullopt;
    if (!holds(version, *order, condition)) return false;
  }
  return true;
}

Selection everything(const VersionCatalog& catalog) {
  Selection selection;
  for (const Component& component : catalog.components) {
    if (!component.version.empty())
      selection.versions[component.name] = {component.version, component.where};
  }
  return selection;
}

Findings check_compatibility(const Selection& selection, const VersionCatalog& catalog) {
  return Check(selection, catalog).run();
}

}  // namespace muster::facts
