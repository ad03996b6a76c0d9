#include "reorg/paths.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::reorg {

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t slash = std::min(path.find('/', begin), path.size());
    if (slash > begin) parts.push_back(path.substr(begin, slash - begin));
    begin = slash + 1;
  }
  return parts;
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string joined(std::string_view directory, std::string_view rest) {
  if (directory.empty()) return std::string(rest);
  if (rest.empty()) return std::string(directory);
  std::string path;
  path.reserve(directory.size() + 1 + rest.size());
  return path.append(directory).append(1, '/').append(rest);
}

bool is_under(std::string_view path, std::string_view directory) {
  if (directory.empty()) return true;
  return path.substr(0, directory.size()) == directory &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string_view below(std::string_view path, std::string_view directory) {
  if (directory.empty()) return path;
  return path.size() == directory.size() ? std::string_view() : path.substr(directory.size() + 1);
}

Resolved resolve(std::string_view directory, std::string_view text) {
  Resolved result;
  result.path.reserve(directory.size() + 1 + text.size());
  result.path = directory;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('/', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      if (!result.path.empty()) result.path += '/';
      result.path += part;
    } else if (result.path.empty()) {
      ++result.above;
    } else {
      result.path.resize(parent_of(result.path).size());
    }
  }
  return result;
}

std::string_view common_directory(std::string_view a, std::string_view b) {
  std::string_view directory = a;
  while (!is_under(b, directory)) directory = parent_of(directory);
  return directory;
}

std::string relative_to(std::string_view directory, std::string_view path) {
  const std::string_view common = common_directory(directory, path);
  std::string text;
  for (std::size_t up = components(below(directory, common)).size(); up > 0; --up) text += "../";
  text += below(path, common);
  if (text.empty()) return ".";
  if (text.back() == '/') text.pop_back();
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string quoted_path(std::string_view path) {
  const bool plain = std::none_of(path.begin(), path.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7f;
  });
  if (plain) return std::string(path);
  std::string text = "\"";
  for (const char c : path) {
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      text += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string unquoted_path(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::string(text);
  text = text.substr(1, text.size() - 2);
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      path += text[i];
      continue;
    }
    const char c = text[++i];
    const auto octal = [](char digit) { return digit >= '0' && digit <= '7'; };
    if (octal(c) && i + 2 < text.size() && octal(text[i + 1]) && octal(text[i + 2])) {
      path += static_cast<char>((c - '0') * 64 + (text[i + 1] - '0') * 8 + (text[i + 2] - '0'));
      i += 2;
    } else {
      path += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return path;
}

}  // namespace muster::reorg
