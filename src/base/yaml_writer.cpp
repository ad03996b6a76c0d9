// Nodes as YAML text in block style.
#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/schema.h"

namespace muster {
namespace {

// Words that some YAML reader takes for something other than text.
bool is_reserved(std::string_view text) {
  static constexpr std::array<std::string_view, 9> kWords = {"null", "~",  "true", "false", "yes",
                                                             "no",   "on", "off",  ""};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

bool is_safe_plain(const std::string& text) {
  static constexpr std::string_view kInside = " _./-+:@%(),;=<>";
  const auto letter = [](unsigned char c) { return std::isalnum(c) && c < 0x80; };
  if (text.empty() || text.back() == ' ' || text.back() == ':') return false;
  if (!letter(static_cast<unsigned char>(text[0])) && text[0] != '/' && text[0] != '.' &&
      text[0] != '_')
    return false;
  if (text.find(": ") != std::string::npos || text.find("---") == 0) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(static_cast<unsigned char>(c)) || kInside.find(c) != std::string_view::npos;
  });
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string scalar_text(const Node& node) {
  if (node.is_null()) return "null";
  const std::string& text = node.text();
  if (!node.quoted() && (node.as_bool() || node.as_double())) return text;
  const Node unquoted = Node::scalar(text, false, {});
  const bool plain =
      is_safe_plain(text) && !is_reserved(text) && !unquoted.as_double() && text[0] != '.';
  return plain ? text : quoted(text);
}

std::string key_text(const std::string& key) {
  return scalar_text(Node::scalar(key, true, {}));
}

bool is_block(const Node& node) {
  return (node.is_mapping() && !node.entries().empty()) ||
         (node.is_sequence() && !node.items().empty());
}

std::string inline_text(const Node& node) {
  if (node.is_mapping()) return "{}";
  if (node.is_sequence()) return "[]";
  return scalar_text(node);
}

void write(const Node& node, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  if (node.is_mapping()) {
    for (const Node::Entry& entry : node.entries()) {
      out += margin + key_text(entry.key) + ":";
      if (is_block(entry.value)) {
        out += "\n";
        write(entry.value, indent + 2, out);
      } else {
        out += " " + inline_text(entry.value) + "\n";
      }
    }
    return;
  }
  for (const Node& item : node.items()) {
    if (is_block(item)) {
      std::string block;
      write(item, indent + 2, block);
      out += margin + "- " + block.substr(indent + 2);  // the first line follows the dash
    } else {
      out += margin + "- " + inline_text(item) + "\n";
    }
  }
}

}  // namespace

std::string to_yaml(const Node& node) {
  if (!is_block(node)) return inline_text(node) + "\n";
  std::string out;
  write(node, 0, out);
  return out;
}

}  // namespace muster
