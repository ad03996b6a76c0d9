// Documents: YAML and JSON as one tree that keeps the place of every key and value.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "base/result.h"

namespace muster {

/// A node of a parsed document. Immutable once parsed. Scalars keep their text as written: what
/// type a scalar has is for the reader to say (as_int, as_bool, …), so that `1.10` stays a version.
class Node {
 public:
  enum class Kind { kNull, kScalar, kSequence, kMapping };

  struct Entry;  // one key of a mapping with its value

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_scalar() const { return kind_ == Kind::kScalar; }
  bool is_sequence() const { return kind_ == Kind::kSequence; }
  bool is_mapping() const { return kind_ == Kind::kMapping; }

  /// Where the value starts (columns count bytes).
  const Position& where() const { return where_; }

  /// Text of a scalar; empty for other kinds.
  const std::string& text() const { return text_; }
  /// True when the scalar was quoted (YAML) or a string (JSON): then it is never a number or
  /// boolean.
  bool quoted() const { return quoted_; }
  /// An explicit YAML tag as written, e.g. "!Ref"; empty when there is none (always in JSON).
  const std::string& tag() const { return tag_; }

  /// The scalar as a type, or nothing when it is not of that form. YAML 1.2 core rules:
  /// `true|false` only (no yes/no), decimal integers, `.inf`/`.nan` for doubles.
  std::optional<bool> as_bool() const;
  std::optional<std::int64_t> as_int() const;
  std::optional<double> as_double() const;

  const std::vector<Node>& items() const { return items_; }
  const std::vector<Entry>& entries() const { return entries_; }

  /// Value of a key of a mapping, or null when absent.
  const Node* find(std::string_view key) const;

  /// "mapping", "sequence", "text", "integer", "number", "boolean", "null": for messages.
  const char* type_name() const;

  // Builders, for parsers and tests.
  static Node null(Position where);
  static Node scalar(std::string text, bool quoted, Position where);
  static Node sequence(std::vector<Node> items, Position where);
  static Node mapping(std::vector<Entry> entries, Position where);
  Node with_tag(std::string tag) &&;

 private:
  Kind kind_ = Kind::kNull;
  bool quoted_ = false;
  Position where_;
  std::string text_;
  std::string tag_;
  std::vector<Node> items_;
  std::vector<Entry> entries_;
};

struct Node::Entry {
  std::string key;
  Position where;  ///< of the key
  Node value;
};

/// Parses one YAML document. `file` names it in positions. Errors: syntax, duplicate keys,
/// non-scalar keys, more than one document, anchors that expand to more than a million nodes,
/// nesting over 256.
Result<Node> parse_yaml(std::string_view text, const std::string& file);

/// As parse_yaml for a stream of any number of documents (`---`).
Result<std::vector<Node>> parse_yaml_stream(std::string_view text, const std::string& file);

/// Parses JSON (RFC 8259, strictly), with the same errors.
Result<Node> parse_json(std::string_view text, const std::string& file);

/// The closest of `candidates` to `word` within an edit distance that a typo makes, or nothing.
std::optional<std::string> did_you_mean(std::string_view word,
                                        const std::vector<std::string>& candidates);

}  // namespace muster
