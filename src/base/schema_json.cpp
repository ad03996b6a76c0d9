// The two ways in which a schema meets JSON: as JSON Schema, and as the typed value of a document.
#include <cmath>

#include "base/schema.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

Json number_json(double value) {
  if (std::floor(value) == value && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

// A scalar by its looks.
Json scalar_json(const Node& node) {
  if (node.is_null()) return nullptr;
  if (node.quoted()) return node.text();
  if (const auto value = node.as_bool()) return *value;
  if (const auto value = node.as_int()) return *value;
  if (const auto value = node.as_double(); value && std::isfinite(*value)) return *value;
  return node.text();
}

Json plain_json(const Node& node) {
  if (node.is_sequence()) {
    Json list = Json::array();
    for (const Node& item : node.items()) list.push_back(plain_json(item));
    return list;
  }
  if (node.is_mapping()) {
    Json object = Json::object();
    for (const Node::Entry& entry : node.entries()) object[entry.key] = plain_json(entry.value);
    return object;
  }
  return scalar_json(node);
}

}  // namespace

Json Schema::to_json(const Node& node) const {
  switch (type_) {
    case Type::kText:
      return node.is_scalar() ? Json(node.text()) : plain_json(node);
    case Type::kList: {
      if (!node.is_sequence()) return plain_json(node);
      Json list = Json::array();
      for (const Node& value : node.items()) list.push_back(item().to_json(value));
      return list;
    }
    case Type::kMap:
    case Type::kObject: {
      if (!node.is_mapping()) return plain_json(node);
      Json object = Json::object();
      for (const Node::Entry& entry : node.entries()) {
        const Schema* schema = type_ == Type::kMap ? &item() : find(entry.key);
        object[entry.key] = schema && !entry.value.is_null() ? schema->to_json(entry.value)
                                                             : plain_json(entry.value);
      }
      return object;
    }
    default:
      return scalar_json(node);
  }
}

Json Schema::json_schema_body() const {
  Json body = Json::object();
  if (!doc_.empty()) body["description"] = doc_;
  switch (type_) {
    case Type::kText:
      // YAML writes 12 or true without quotes; here they are texts all the same.
      body["type"] = choices_.empty() ? Json({"string", "number", "boolean"}) : Json("string");
      if (!choices_.empty()) body["enum"] = choices_;
      if (form_) body["pattern"] = "^(" + std::string(form_->pattern) + ")$";
      if (default_) body["default"] = *default_;
      break;
    case Type::kBoolean:
      body["type"] = "boolean";
      if (default_) body["default"] = *default_ == "true";
      break;
    case Type::kInteger:
    case Type::kNumber:
      body["type"] = type_ == Type::kInteger ? "integer" : "number";
      if (minimum_) body["minimum"] = number_json(*minimum_);
      if (maximum_) body["maximum"] = number_json(*maximum_);
      if (default_) body["default"] = scalar_json(Node::scalar(*default_, false, {}));
      break;
    case Type::kList:
      body["type"] = "array";
      if (minimum_) body["minItems"] = number_json(*minimum_);
      if (maximum_) body["maxItems"] = number_json(*maximum_);
      body["items"] = item().json_schema_body();
      break;
    case Type::kMap:
      body["type"] = "object";
      body["additionalProperties"] = item().json_schema_body();
      break;
    case Type::kObject: {
      body["type"] = "object";
      body["additionalProperties"] = false;
      Json needed = Json::array();
      Json properties = Json::object();
      for (const Field& field : fields_) {
        Json property = field.schema.json_schema_body();
        if (field.schema.required_) {
          needed.push_back(field.key);
        } else {
          // Left empty means absent.
          Json types = property.contains("type") ? property["type"] : Json();
          if (types.is_string()) types = Json::array({types});
          if (types.is_array()) types.push_back("null"), property["type"] = types;
          if (property.contains("enum")) property["enum"].push_back(nullptr);
          if (property.contains("anyOf")) property["anyOf"].push_back({{"type", "null"}});
        }
        properties[field.key] = std::move(property);
      }
      if (!needed.empty()) body["required"] = needed;
      body["properties"] = std::move(properties);
      break;
    }
  }
  if (!words_.empty()) {
    Json number = body;
    number.erase("description");
    number.erase("default");
    body.erase("type");
    body.erase("minimum");
    body.erase("maximum");
    body.erase("pattern");
    body.erase("enum");
    body["anyOf"] = Json::array({number, {{"enum", words_}}});
  }
  return body;
}

Json Schema::json_schema(const std::string& id, const std::string& title) const {
  Json schema = Json::object();
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["$id"] = id;
  schema["title"] = title;
  schema.update(json_schema_body());
  return schema;
}

}  // namespace muster
