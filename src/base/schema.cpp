#include "base/schema.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>
#include <utility>

#include <fmt/format.h>

namespace muster {
namespace {

const char* type_words(Schema::Type type) {
  switch (type) {
    case Schema::Type::kText:
      return "text";
    case Schema::Type::kInteger:
      return "an integer";
    case Schema::Type::kNumber:
      return "a number";
    case Schema::Type::kBoolean:
      return "true or false";
    case Schema::Type::kList:
      return "a list";
    case Schema::Type::kMap:
    case Schema::Type::kObject:
      return "a mapping";
  }
  return "";
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string shown(const std::string& path) {
  return path.empty() ? "the document" : path;
}

std::string plain(double value) {
  return fmt::format("{:.15g}", value);
}

// Leading number of a text and what follows it, spaces skipped; nothing when there is no number.
std::optional<std::pair<double, std::string_view>> split_number(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.'))
    ++end;
  const auto number = Node::scalar(std::string(text.substr(0, end)), false, {}).as_double();
  if (!number || end == 0) return std::nullopt;
  while (end < text.size() && text[end] == ' ') ++end;
  return std::pair(*number, text.substr(end));
}

}  // namespace

const TextForm kDuration{"a duration", R"([0-9]+(\.[0-9]+)?(ms|s|m|h|d))", "90s"};
const TextForm kSize{
    "a size", R"([0-9]+(\.[0-9]+)? ?(B|k|kB|M|MB|G|GB|T|TB|Ki|KiB|Mi|MiB|Gi|GiB|Ti|TiB)?)", "64Gi"};
const TextForm kDnsLabel{"a DNS name", R"([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)", "gpu-workers"};
const TextForm kVariable{"a variable's name", R"([A-Za-z_][A-Za-z0-9_]*)", "HF_TOKEN"};

std::optional<double> parse_duration(std::string_view text) {
  const auto parts = split_number(text);
  if (!parts) return std::nullopt;
  static const std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  for (const auto& [unit, seconds] : kUnits) {
    if (parts->second == unit) return parts->first * seconds;
  }
  return std::nullopt;
}

std::optional<double> parse_size(std::string_view text) {
  const auto parts = split_number(text);
  if (!parts) return std::nullopt;
  std::string_view unit = parts->second;
  if (unit.empty() || unit == "B") return parts->first;
  if (unit.back() == 'B') unit.remove_suffix(1);
  static constexpr std::string_view kScales = "kMGT";
  const bool binary = unit.size() == 2 && unit[1] == 'i';
  if (unit.size() != (binary ? 2u : 1u)) return std::nullopt;
  const auto scale = kScales.find(binary && unit[0] == 'K' ? 'k' : unit[0]);
  if (scale == std::string_view::npos) return std::nullopt;
  return parts->first * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(scale + 1));
}

// Not in the header: there, Field is not complete yet.
Schema::Schema(Type type, std::string doc) : type_(type), doc_(std::move(doc)) {}

Schema Schema::text(std::string doc) {
  return Schema(Type::kText, std::move(doc));
}
Schema Schema::integer(std::string doc) {
  return Schema(Type::kInteger, std::move(doc));
}
Schema Schema::number(std::string doc) {
  return Schema(Type::kNumber, std::move(doc));
}
Schema Schema::boolean(std::string doc) {
  return Schema(Type::kBoolean, std::move(doc));
}

Schema Schema::list(std::string doc, Schema item) {
  Schema schema(Type::kList, std::move(doc));
  schema.item_.push_back(std::move(item));
  return schema;
}

Schema Schema::map(std::string doc, Schema value) {
  Schema schema(Type::kMap, std::move(doc));
  schema.item_.push_back(std::move(value));
  return schema;
}

Schema Schema::object(std::string doc, std::vector<Field> fields) {
  Schema schema(Type::kObject, std::move(doc));
  schema.fields_ = std::move(fields);
  return schema;
}

Schema Schema::one_of(std::vector<std::string> choices) && {
  choices_ = std::move(choices);
  return std::move(*this);
}

Schema Schema::at_least(double minimum) && {
  minimum_ = minimum;
  return std::move(*this);
}

Schema Schema::at_most(double maximum) && {
  maximum_ = maximum;
  return std::move(*this);
}

Schema Schema::form(const TextForm& form) && {
  form_ = &form;
  return std::move(*this);
}

Schema Schema::or_word(std::string word) && {
  words_.push_back(std::move(word));
  return std::move(*this);
}

Schema Schema::defaults_to(std::string value) && {
  default_ = std::move(value);
  return std::move(*this);
}

Schema Schema::required() && {
  required_ = true;
  return std::move(*this);
}

Schema Schema::optional_group() && {
  optional_group_ = true;
  return std::move(*this);
}

Schema Schema::as_overlay() const {
  Schema overlay = *this;
  overlay.required_ = false;
  overlay.default_.reset();
  if (type_ == Type::kObject) {
    for (Field& field : overlay.fields_) field.schema = field.schema.as_overlay();
  }
  return overlay;
}

const Schema* Schema::find(std::string_view key) const {
  for (const Field& field : fields_) {
    if (field.key == key) return &field.schema;
  }
  return nullptr;
}

const Schema* Schema::at(std::string_view dotted) const {
  const std::size_t dot = dotted.find('.');
  const Schema* field = find(dotted.substr(0, dot));
  return field == nullptr || dot == std::string_view::npos ? field
                                                           : field->at(dotted.substr(dot + 1));
}

Findings Schema::check(const Node& node, const std::string& prefix, const std::string& path) const {
  switch (type_) {
    case Type::kObject:
      return check_object(node, prefix, path);
    case Type::kList:
    case Type::kMap:
      return check_items(node, prefix, path);
    default:
      return check_scalar(node, prefix, path);
  }
}

Findings Schema::check_scalar(const Node& node, const std::string& prefix,
                              const std::string& path) const {
  const auto wrong = [&](const char* rule, std::string message, std::string hint) {
    return Findings{error_at(node.where(), prefix + rule, std::move(message), std::move(hint))};
  };
  const std::string expected = words_.empty()
                                   ? type_words(type_)
                                   : fmt::format("{} or {}", type_words(type_), joined(words_));
  const auto wrong_type = [&] {
    return wrong("-type", fmt::format("{} is {}, not {}", shown(path), node.type_name(), expected),
                 {});
  };
  if (!node.is_scalar()) return wrong_type();
  if (std::find(words_.begin(), words_.end(), node.text()) != words_.end()) return {};
  if (type_ == Type::kBoolean) return node.as_bool() ? Findings{} : wrong_type();
  if (type_ == Type::kInteger || type_ == Type::kNumber) {
    const auto value = node.as_double();
    if (!value || (type_ == Type::kInteger && !node.as_int())) return wrong_type();
    if (!std::isfinite(*value))
      return wrong("-range", fmt::format("{} is not a finite number", path), {});
    if (minimum_ && *value < *minimum_) {
      return wrong("-range", fmt::format("{} is {}, below {}", path, node.text(), plain(*minimum_)),
                   {});
    }
    if (maximum_ && *value > *maximum_) {
      return wrong("-range", fmt::format("{} is {}, above {}", path, node.text(), plain(*maximum_)),
                   {});
    }
    return {};
  }
  if (!choices_.empty() &&
      std::find(choices_.begin(), choices_.end(), node.text()) == choices_.end()) {
    const auto meant = did_you_mean(node.text(), choices_);
    return wrong("-choice",
                 fmt::format("{} is \"{}\", not one of {}", path, node.text(), joined(choices_)),
                 meant ? fmt::format("did you mean \"{}\"?", *meant) : std::string());
  }
  if (form_ && !std::regex_match(node.text(), std::regex(form_->pattern))) {
    return wrong("-form", fmt::format("{} is \"{}\", not {}", path, node.text(), form_->name),
                 fmt::format("for example {}", form_->example));
  }
  return {};
}

Findings Schema::check_object(const Node& node, const std::string& prefix,
                              const std::string& path) const {
  if (!node.is_mapping()) {
    return {error_at(node.where(), prefix + "-type",
                     fmt::format("{} is {}, not a mapping", shown(path), node.type_name()))};
  }
  std::vector<std::string> keys;
  for (const Field& field : fields_) keys.push_back(field.key);
  Findings findings;
  for (const Node::Entry& entry : node.entries()) {
    const Schema* field = find(entry.key);
    if (!field) {
      const auto meant = did_you_mean(entry.key, keys);
      findings.push_back(error_at(entry.where, prefix + "-unknown-key",
                                  fmt::format("unknown key \"{}\"", below(path, entry.key)),
                                  meant ? fmt::format("did you mean \"{}\"?", *meant)
                                        : fmt::format("keys here: {}", joined(keys))));
      continue;
    }
    if (entry.value.is_null()) continue;  // written down, but left empty: as if absent
    const Findings inner = field->check(entry.value, prefix, below(path, entry.key));
    findings.insert(findings.end(), inner.begin(), inner.end());
  }
  for (const Field& field : fields_) {
    const Node* value = node.find(field.key);
    if (!field.schema.required_ || (value && !value->is_null())) continue;
    findings.push_back(error_at(node.where(), prefix + "-missing-key",
                                fmt::format("{} is missing", below(path, field.key)),
                                field.schema.doc_));
  }
  return findings;
}

Findings Schema::check_items(const Node& node, const std::string& prefix,
                             const std::string& path) const {
  const bool is_list = type_ == Type::kList;
  if (is_list ? !node.is_sequence() : !node.is_mapping()) {
    return {error_at(
        node.where(), prefix + "-type",
        fmt::format("{} is {}, not {}", shown(path), node.type_name(), type_words(type_)))};
  }
  Findings findings;
  const std::size_t count = is_list ? node.items().size() : node.entries().size();
  if ((minimum_ && static_cast<double>(count) < *minimum_) ||
      (maximum_ && static_cast<double>(count) > *maximum_)) {
    findings.push_back(error_at(node.where(), prefix + "-range",
                                fmt::format("{} has {} entries", path, count),
                                fmt::format("at least {}, at most {}", plain(minimum_.value_or(0)),
                                            maximum_ ? plain(*maximum_) : "any number")));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Node& value = is_list ? node.items()[i] : node.entries()[i].value;
    const std::string name =
        is_list ? fmt::format("{}[{}]", path, i) : below(path, node.entries()[i].key);
    const Findings inner = item().check(value, prefix, name);
    findings.insert(findings.end(), inner.begin(), inner.end());
  }
  return findings;
}

Node Schema::with_defaults(const Node& node) const {
  if (type_ == Type::kList) {
    std::vector<Node> items;
    for (const Node& value : node.items()) items.push_back(item().with_defaults(value));
    return Node::sequence(std::move(items), node.where());
  }
  if (type_ == Type::kMap) {
    std::vector<Node::Entry> entries;
    for (const Node::Entry& entry : node.entries()) {
      entries.push_back({entry.key, entry.where, item().with_defaults(entry.value)});
    }
    return Node::mapping(std::move(entries), node.where());
  }
  if (type_ != Type::kObject) return node;

  const Position nowhere;  // of what nobody wrote down
  std::vector<Node::Entry> entries;
  for (const Field& field : fields_) {
    const Schema& schema = field.schema;
    const Node* value = node.find(field.key);
    if (value && !value->is_null()) {
      const auto entry = std::find_if(node.entries().begin(), node.entries().end(),
                                      [&](const Node::Entry& e) { return e.key == field.key; });
      entries.push_back({field.key, entry->where, schema.with_defaults(*value)});
    } else if (schema.default_) {
      const bool quoted = schema.type_ == Type::kText;
      entries.push_back({field.key, nowhere, Node::scalar(*schema.default_, quoted, nowhere)});
    } else if (schema.type_ == Type::kObject && !schema.optional_group_) {
      Node filled = schema.with_defaults(Node::mapping({}, nowhere));
      if (!filled.entries().empty()) entries.push_back({field.key, nowhere, std::move(filled)});
    }
  }
  return Node::mapping(std::move(entries), node.where());
}

const Node* node_at(const Node& root, std::string_view dotted) {
  const Node* node = &root;
  while (node) {
    const auto dot = dotted.find('.');
    node = node->find(dotted.substr(0, dot));
    if (dot == std::string_view::npos) break;
    dotted.remove_prefix(dot + 1);
  }
  return node && !node->is_null() ? node : nullptr;
}

std::string text_at(const Node& root, std::string_view dotted) {
  const Node* node = node_at(root, dotted);
  return node ? node->text() : std::string();
}

std::optional<std::int64_t> integer_at(const Node& root, std::string_view dotted) {
  const Node* node = node_at(root, dotted);
  return node ? node->as_int() : std::nullopt;
}

std::optional<double> number_at(const Node& root, std::string_view dotted) {
  const Node* node = node_at(root, dotted);
  return node ? node->as_double() : std::nullopt;
}

std::optional<bool> boolean_at(const Node& root, std::string_view dotted) {
  const Node* node = node_at(root, dotted);
  return node ? node->as_bool() : std::nullopt;
}

std::vector<std::string> texts_at(const Node& root, std::string_view dotted) {
  std::vector<std::string> texts;
  if (const Node* node = node_at(root, dotted)) {
    for (const Node& item : node->items()) texts.push_back(item.text());
  }
  return texts;
}

}  // namespace muster
