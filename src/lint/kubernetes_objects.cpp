#include "lint/kubernetes_objects.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/schema.h"

namespace muster::lint {
namespace {

// Where a value is in the object; text is made of it only when something is wrong.
struct KubePath {
  const KubePath* up = nullptr;
  std::string_view key;
  int index = -1;  // of a list's item

  std::string text() const {
    if (index >= 0) return fmt::format("{}[{}]", up->text(), index);
    const std::string above = up ? up->text() : std::string();
    return above.empty() ? std::string(key) : fmt::format("{}.{}", above, key);
  }
};

// kubectl reads YAML 1.1, where these words are booleans.
bool is_old_boolean(const std::string& text) {
  static constexpr std::array<std::string_view, 6> kWords = {"yes", "no", "on", "off", "y", "n"};
  if (text.size() > 3) return false;
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

bool is_string(const Node& node) {
  if (!node.is_scalar()) return false;
  if (node.quoted()) return true;
  return !node.as_bool() && !node.as_double() && !is_old_boolean(node.text());
}

bool is_exponent(std::string_view unit) {
  if (unit.size() < 2 || (unit[0] != 'e' && unit[0] != 'E')) return false;
  unit.remove_prefix(unit[1] == '+' || unit[1] == '-' ? 2 : 1);
  return !unit.empty() && unit.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_quantity(const Node& node) {
  if (!node.is_scalar()) return false;
  std::string_view text = node.text();
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  const std::string_view number =
      text.substr(0, std::min(text.find_first_not_of("0123456789."), text.size()));
  if (number.empty() || number == "." || std::count(number.begin(), number.end(), '.') > 1)
    return false;
  const std::string_view unit = text.substr(number.size());
  static constexpr std::array<std::string_view, 16> kUnits = {
      "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  return std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end() || is_exponent(unit);
}

const char* words_for(KubeType::Form form) {
  switch (form) {
    case KubeType::Form::kString:
      return "a string";
    case KubeType::Form::kInteger:
      return "an integer";
    case KubeType::Form::kNumber:
      return "a number";
    case KubeType::Form::kBoolean:
      return "true or false";
    case KubeType::Form::kQuantity:
      return "a quantity";
    case KubeType::Form::kIntOrString:
      return "an integer or a string";
    case KubeType::Form::kList:
      return "a list";
    default:
      return "a mapping";
  }
}

class TypeCheck {
 public:
  using Form = KubeType::Form;

  void check_fields(const Node& node, const KubeObjectType& type, const KubePath& path) {
    if (!node.is_mapping()) return wrong_type(node, Form::kObject, path);
    for (const Node::Entry& entry : node.entries()) {
      const KubeField* field = type.find(entry.key);
      if (field == nullptr) {
        unknown(entry, type, path);
      } else {
        check(entry.value, field->type, {&path, entry.key, -1});
      }
    }
    for (const KubeField& field : type.fields) {
      if (!field.required) continue;
      const Node* value = node.find(field.name);
      if (value != nullptr && !value->is_null()) continue;
      add(node.where(), "kubernetes-missing-key",
          fmt::format("{} is missing", KubePath{&path, field.name, -1}.text()), {});
    }
  }

  Findings take() { return std::move(findings_); }

 private:
  void add(const Position& where, const char* rule, std::string message, std::string hint) {
    findings_.push_back(error_at(where, rule, std::move(message), std::move(hint)));
  }

  // An empty value is as if its key were absent, as the API server reads it.
  void check(const Node& node, const KubeType& type, const KubePath& path) {
    if (node.is_null()) return;
    switch (type.form) {
      case Form::kAny:
        return;
      case Form::kList:
        if (!node.is_sequence()) return wrong_type(node, type.form, path);
        for (std::size_t i = 0; i < node.items().size(); ++i)
          check(node.items()[i], *type.item, {&path, {}, static_cast<int>(i)});
        return;
      case Form::kMap:
        if (!node.is_mapping()) return wrong_type(node, type.form, path);
        for (const Node::Entry& entry : node.entries())
          check(entry.value, *type.item, {&path, entry.key, -1});
        return;
      case Form::kObject:
        return check_fields(node, *type.object, path);
      default:
        return check_scalar(node, type, path);
    }
  }

  void unknown(const Node::Entry& entry, const KubeObjectType& type, const KubePath& path) {
    const std::vector<std::string> names = type.names();
    const auto meant = did_you_mean(entry.key, names);
    std::string hint;
    if (meant) {
      hint = fmt::format("did you mean \"{}\"?", *meant);
    } else if (names.size() <= 12) {
      hint = fmt::format("keys here: {}", fmt::join(names, ", "));
    }
    add(entry.where, "kubernetes-unknown-key",
        fmt::format("unknown key \"{}\"", KubePath{&path, entry.key, -1}.text()), hint);
  }

  void wrong_type(const Node& node, KubeType::Form form, const KubePath& path) {
    const bool boolean = node.is_scalar() && !node.quoted() && is_old_boolean(node.text());
    const bool quote = form == Form::kString && node.is_scalar();
    add(node.where(), "kubernetes-type",
        fmt::format("{} is {}, not {}", path.text(), boolean ? "boolean" : node.type_name(),
                    words_for(form)),
        quote ? fmt::format("\"{}\"", node.text()) : std::string());
  }

  static bool fits(const Node& node, KubeType::Form form) {
    if (!node.is_scalar()) return false;
    switch (form) {
      case Form::kString:
        return is_string(node);
      case Form::kInteger:
        return !node.quoted() && node.as_int();
      case Form::kNumber:
        return !node.quoted() && node.as_double();
      case Form::kBoolean:
        return !node.quoted() && (node.as_bool() || is_old_boolean(node.text()));
      default:
        return is_string(node) || node.as_int();
    }
  }

  void check_scalar(const Node& node, const KubeType& type, const KubePath& path) {
    if (type.form == Form::kQuantity) {
      if (is_quantity(node)) return;
      add(node.where(), "kubernetes-quantity",
          fmt::format("{} is {}, not a quantity", path.text(),
                      node.is_scalar() ? '"' + node.text() + '"' : node.type_name()),
          "such as 500m, 8, 64Gi");
      return;
    }
    if (!fits(node, type.form)) return wrong_type(node, type.form, path);
    const auto& choices = type.choices;
    if (choices.empty() || std::find(choices.begin(), choices.end(), node.text()) != choices.end())
      return;
    const auto meant = did_you_mean(node.text(), choices);
    add(node.where(), "kubernetes-choice",
        fmt::format("{} is \"{}\", not one of {}", path.text(), node.text(),
                    fmt::join(choices, ", ")),
        meant ? fmt::format("did you mean \"{}\"?", *meant) : std::string());
  }

  Findings findings_;
};

Finding unknown_kind(const Node& object, const std::string& api_version, const std::string& kind,
                     const KubeTypes& types) {
  const auto versions = types.versions_of(kind);
  if (!versions.empty()) {
    return error_at(object.find("apiVersion")->where(), "kubernetes-api-version",
                    fmt::format("{} is not in {}", kind, api_version),
                    fmt::format("apiVersion: {}", versions.back()));
  }
  const Position where = object.find("kind")->where();
  if (const auto meant = did_you_mean(kind, types.kinds_of(api_version))) {
    return error_at(where, "kubernetes-kind", fmt::format("{} has no kind {}", api_version, kind),
                    fmt::format("did you mean \"{}\"?", *meant));
  }
  return warning_at(
      where, "kubernetes-kind-unknown",
      fmt::format("{} of {} was not checked: its keys are not known here", kind, api_version));
}

void collect_pod_specs(const Node& node, std::vector<const Node*>& found) {
  for (const Node& item : node.items()) collect_pod_specs(item, found);
  for (const Node::Entry& entry : node.entries()) {
    if (entry.key == "containers" && entry.value.is_sequence()) {
      found.push_back(&node);
    } else {
      collect_pod_specs(entry.value, found);
    }
  }
}

}  // namespace

std::vector<const Node*> pod_specs(const Node& object) {
  std::vector<const Node*> found;
  if (const Node* spec = object.find("spec")) collect_pod_specs(*spec, found);
  return found;
}

Findings check_object(const Node& object, const KubeTypes& types) {
  const std::string api_version = text_at(object, "apiVersion");
  const std::string kind = text_at(object, "kind");
  if (api_version.empty() || kind.empty()) {
    return {error_at(object.where(), "kubernetes-missing-key",
                     fmt::format("not a Kubernetes object: {} is missing",
                                 kind.empty() ? "kind" : "apiVersion"))};
  }
  Findings findings;
  const auto take = [&](const Findings& more) {
    findings.insert(findings.end(), more.begin(), more.end());
  };
  if (kind == "List" && api_version == "v1") {
    const Node* items = object.find("items");
    if (items == nullptr || items->items().empty()) {
      return {error_at(items ? items->where() : object.where(), "kubernetes-missing-key",
                       "the List holds no objects: items is missing, empty or no sequence")};
    }
    for (const Node& item : items->items()) take(check_object(item, types));
    return findings;
  }
  const KubeObjectType* type = types.object(api_version, kind);
  if (type == nullptr) return {unknown_kind(object, api_version, kind, types)};
  TypeCheck check;
  check.check_fields(object, *type, KubePath{});
  take(check.take());
  take(check_object_rules(object));
  return findings;
}

}  // namespace muster::lint
