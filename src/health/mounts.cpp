#include "health/mounts.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "health/host.h"

namespace muster::health {
namespace {

/// Blanks of /proc/mounts are written \040.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out += static_cast<char>(((text[i + 1] - '0') * 8 + (text[i + 2] - '0')) * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> split_options(std::string_view text) {
  std::vector<std::string> options;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) options.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return options;
}

/// Up to the first variable, and no further than a whole folder.
std::string literal_folder(std::string_view value) {
  while (!value.empty() && (value.front() == '"' || value.front() == '\'')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == '"' || value.back() == '\'')) value.remove_suffix(1);
  const std::size_t variable = value.find('$');
  if (variable != std::string_view::npos) {
    const std::size_t slash = value.rfind('/', variable);
    if (slash == std::string_view::npos || variable == 0) return {};
    value = value.substr(0, slash);
  }
  return value.starts_with('/') ? std::string(value) : std::string();
}

}  // namespace

bool Mount::has(std::string_view option) const {
  return std::find(options.begin(), options.end(), option) != options.end();
}

bool Mount::local() const {
  return device.starts_with("/dev/") || type == "overlay";
}

std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  static thread_local const Regex& spoken = pattern(R"(^(\S+) on (/.*) type (\S+) \(([^)]*)\))");
  Regex::Match match;
  for (const Line& line : lines_of(text)) {
    const std::string bare(trimmed(line.text));
    if (finds(spoken, bare, match)) {
      mounts.push_back({std::string(group(match, 1)), std::string(group(match, 2)),
                        std::string(group(match, 3)), split_options(group(match, 4)), line.number});
      continue;
    }
    const auto words = words_of(bare);
    if (words.size() < 4 || !words[1].starts_with('/')) continue;
    const auto options = split_options(words[3]);
    const bool access = std::any_of(options.begin(), options.end(), [](const std::string& one) {
      return one == "rw" || one == "ro";
    });
    if (!access) continue;
    mounts.push_back(
        {unescaped(words[0]), unescaped(words[1]), std::string(words[2]), options, line.number});
  }
  return mounts;
}

const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* best = nullptr;
  for (const Mount& one : mounts) {
    const std::string& point = one.point;
    const bool above =
        point == "/" || path == point ||
        (path.starts_with(point) && path.size() > point.size() && path[point.size()] == '/');
    if (above && (best == nullptr || point.size() >= best->point.size())) best = &one;
  }
  return best;
}

std::string docker_root(const std::string& json) {
  const auto document = nlohmann::json::parse(json, nullptr, false);
  if (!document.is_object()) return {};
  for (const char* key : {"data-root", "graph"}) {
    if (document.contains(key) && document[key].is_string())
      return document[key].get<std::string>();
  }
  return {};
}

std::string containerd_root(std::string_view toml) {
  static thread_local const Regex& form = pattern(R"(^root\s*=\s*["'](/[^"']*)["'])");
  Regex::Match match;
  for (const Line& line : lines_of(toml)) {
    const std::string bare(trimmed(line.text));
    if (bare.starts_with('[')) break;  // keys of tables below are not the daemon's own
    if (finds(form, bare, match)) return std::string(group(match, 1));
  }
  return {};
}

std::vector<std::string> enroot_roots(std::string_view conf) {
  static thread_local const Regex& form =
      pattern(R"(^ENROOT_(?:DATA|CACHE|RUNTIME)_PATH\s*=?\s*(\S.*)$)");
  std::vector<std::string> roots;
  Regex::Match match;
  for (const Line& line : lines_of(conf)) {
    const std::string bare(trimmed(line.text));
    if (!finds(form, bare, match)) continue;
    std::string folder = literal_folder(trimmed(group(match, 1)));
    if (!folder.empty() && std::find(roots.begin(), roots.end(), folder) == roots.end())
      roots.push_back(std::move(folder));
  }
  return roots;
}

}  // namespace muster::health
