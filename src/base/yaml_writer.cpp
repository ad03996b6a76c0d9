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
  static constexpr std::array<std::string_view, 11> kWords = {
      "null", "~", "true", "false", "yes", "no", "on", "off", "y", "n", ""};
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

// Numbers, times and dates of YAML 1.1 (kubectl, PyYAML) that are text in YAML 1.2.
bool is_old_number(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  if (text.size() > 2 && text[0] == '0' && std::isalpha(static_cast<unsigned char>(text[1])))
    return true;
  return text.find_first_not_of("0123456789_:-. T") == std::string::npos &&
         text.find_first_of("_:-") != std::string::npos;
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string scalar_text(const Node& node) {
  if (node.is_null()) return "null";
  const std::string& text = node.text();
  if (!node.quoted() && (node.as_bool() || node.as_double())) return text;
  const Node unquoted = Node::scalar(text, false, {});
  const bool plain = is_safe_plain(text) && !is_reserved(text) && !is_old_number(text) &&
                     !unquoted.as_double() && text[0] != '.';
  return plain ? text : quoted(text);
}

// Text of several lines that a literal block holds unchanged.
bool is_literal_block(const Node& node) {
  const std::string& text = node.text();
  if (!node.is_scalar() || text.find('\n') == std::string::npos) return false;
  if (text[0] == ' ' || text[0] == '\n' || text.find("\n\n") != std::string::npos) return false;
  if (text.size() > 1 && text.find(" \n") != std::string::npos) return false;
  return text.back() != ' ' && std::all_of(text.begin(), text.end(), [](char c) {
           return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && !(c & 0x80));
         });
}

std::string literal_block(const std::string& text, std::size_t indent) {
  const bool ends = text.back() == '\n';
  std::string out = ends ? "|\n" : "|-\n";
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += std::string(indent, ' ') + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
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
      } else if (is_literal_block(entry.value)) {
        out += " " + literal_block(entry.value.text(), indent + 2);
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
    } else if (is_literal_block(item)) {
      out += margin + "- " + literal_block(item.text(), indent + 2);
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
