// Schema: what a document may hold, described once. The same description checks documents strictly,
// fills in defaults, and is written out as JSON Schema for editors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/document.h"
#include "base/finding.h"

namespace muster {

/// A form that a text must have: its name for messages, an ECMAScript pattern for the whole text,
/// an example.
struct TextForm {
  const char* name;
  const char* pattern;
  const char* example;
};

extern const TextForm kDuration;  ///< 90s, 6h, 1.5m, 250ms
extern const TextForm kSize;      ///< 64Gi, 80 GiB, 512 MiB
extern const TextForm kDnsLabel;  ///< lower-case letters, digits and dashes, at most 63
extern const TextForm kVariable;  ///< name of an environment variable

/// Seconds of a kDuration text, or nothing.
std::optional<double> parse_duration(std::string_view text);

/// Bytes of a kSize text, or nothing. Units count in 1024s with an i (KiB, Ki), in 1000s without
/// (kB, k).
std::optional<double> parse_size(std::string_view text);

class Schema {
 public:
  enum class Type { kText, kInteger, kNumber, kBoolean, kList, kMap, kObject };
  struct Field;

  static Schema text(std::string doc);
  static Schema integer(std::string doc);
  static Schema number(std::string doc);
  static Schema boolean(std::string doc);
  static Schema list(std::string doc, Schema item);
  /// Any keys, all values alike.
  static Schema map(std::string doc, Schema value);
  static Schema object(std::string doc, std::vector<Field> fields);

  // Refinements; each returns the schema, to be chained.
  Schema one_of(std::vector<std::string> choices) &&;  ///< only these texts
  Schema at_least(double minimum) &&;                  ///< of numbers; of lists: how many items
  Schema at_most(double maximum) &&;
  Schema form(const TextForm& form) &&;
  Schema or_word(std::string word) &&;       ///< this word too, e.g. auto
  Schema defaults_to(std::string value) &&;  ///< scalar, as it would be written
  Schema required() &&;
  /// An object whose defaults are filled in only when it is written down.
  Schema optional_group() &&;
  /// The same with nothing required and no defaults, at any depth: for what overrides parts of a
  /// document.
  Schema as_overlay() const;

  Type type() const { return type_; }
  const std::string& doc() const { return doc_; }
  const std::vector<std::string>& choices() const { return choices_; }
  const std::vector<Field>& fields() const { return fields_; }
  const std::optional<std::string>& default_value() const { return default_; }
  const std::optional<double>& minimum() const { return minimum_; }
  const TextForm* text_form() const { return form_; }  ///< null: any text
  bool is_required() const { return required_; }
  const Schema* find(std::string_view key) const;       ///< a field of an object
  const Schema* at(std::string_view dotted) const;      ///< the same through objects: "batch.steps"
  const Schema& item() const { return item_.front(); }  ///< of a list or map

  /// Everything in `node` that this schema does not allow. Rules are `prefix` + "-type",
  /// "-unknown-key",
  /// "-missing-key", "-choice", "-range", "-form". `path` names the node in messages; empty at the
  /// top.
  Findings check(const Node& node, const std::string& prefix, const std::string& path = {}) const;

  /// The node with the defaults of absent fields; keys in the schema's order. Expects a node
  /// without findings.
  Node with_defaults(const Node& node) const;

  /// Typed by the schema, so that text stays text: `1.10` of a text field is "1.10". Sizes that do
  /// not fit the schema are written by their looks.
  nlohmann::ordered_json to_json(const Node& node) const;

  /// JSON Schema (draft 2020-12) of a document of this kind.
  nlohmann::ordered_json json_schema(const std::string& id, const std::string& title) const;

 private:
  explicit Schema(Type type, std::string doc);

  Findings check_scalar(const Node& node, const std::string& prefix, const std::string& path) const;
  Findings check_object(const Node& node, const std::string& prefix, const std::string& path) const;
  Findings check_items(const Node& node, const std::string& prefix, const std::string& path) const;
  nlohmann::ordered_json json_schema_body() const;

  Type type_;
  std::string doc_;
  std::vector<std::string> choices_;
  std::vector<std::string> words_;
  std::optional<double> minimum_, maximum_;
  const TextForm* form_ = nullptr;
  std::optional<std::string> default_;
  bool required_ = false;
  bool optional_group_ = false;
  std::vector<Field> fields_;
  std::vector<Schema> item_;  ///< none or one
};

struct Schema::Field {
  std::string key;
  Schema schema;
};

/// The node at a dotted key below `root`, or null when absent (or null).
const Node* node_at(const Node& root, std::string_view dotted);

// Values of checked documents by dotted key: empty, 0 or nothing when absent.
std::string text_at(const Node& root, std::string_view dotted);
std::optional<std::int64_t> integer_at(const Node& root, std::string_view dotted);
std::optional<double> number_at(const Node& root, std::string_view dotted);
std::optional<bool> boolean_at(const Node& root, std::string_view dotted);
std::vector<std::string> texts_at(const Node& root, std::string_view dotted);

/// The node as YAML in block style; parse_yaml reads it back to an equal tree.
std::string to_yaml(const Node& node);

}  // namespace muster
