// Every key of a case's schema, with a value for each, for tests that hold all keys to something.
#pragma once

#include <map>
#include <string>

#include "base/schema.h"
#include "catalog/case_schema.h"

namespace muster::launch::keys_test {

/// A value that the schema allows, in flow style, other than `now`.
inline std::string sample(const Schema& schema, const std::string& now) {
  switch (schema.type()) {
    case Schema::Type::kBoolean:
      return now == "true" ? "false" : "true";
    case Schema::Type::kInteger: {
      const auto least = static_cast<long>(schema.minimum().value_or(0));
      return std::to_string(now.empty() || now == "auto" ? least + 1 : std::stol(now) + 1);
    }
    case Schema::Type::kNumber:
      return now == "0.5" ? "0.25" : "0.5";
    case Schema::Type::kText:
      for (const std::string& choice : schema.choices()) {
        if (choice != now) return choice;
      }
      if (schema.text_form() != nullptr) return schema.text_form()->example;
      return "something-else";
    case Schema::Type::kList: {
      std::string items = sample(schema.item(), "");
      for (int i = 1; i < static_cast<int>(schema.minimum().value_or(1)); ++i)
        items += ", " + sample(schema.item(), "");
      return "[" + items + "]";
    }
    case Schema::Type::kMap:
      return "{name: " + sample(schema.item(), "") + "}";
    case Schema::Type::kObject: {
      std::string fields;
      for (const Schema::Field& field : schema.fields()) {
        fields += (fields.empty() ? "" : ", ") + field.key + ": " + sample(field.schema, "");
      }
      return "{" + fields + "}";
    }
  }
  return {};
}

inline void collect(const Schema& schema, const std::string& path,
                    std::map<std::string, Schema>& leaves) {
  for (const Schema::Field& field : schema.fields()) {
    const std::string key = path.empty() ? field.key : path + "." + field.key;
    if (field.schema.type() == Schema::Type::kObject) {
      collect(field.schema, key, leaves);
    } else {
      leaves.emplace(key, field.schema);
    }
  }
}

/// All keys but those that name the manifest itself.
inline std::map<std::string, Schema> keys() {
  std::map<std::string, Schema> leaves;
  collect(catalog::case_schema(), "", leaves);
  for (const char* fixed : {"apiVersion", "kind", "name", "default", "profiles"})
    leaves.erase(fixed);
  return leaves;
}

}  // namespace muster::launch::keys_test
