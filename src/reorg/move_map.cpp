#include "reorg/move_map.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "reorg/paths.h"

namespace muster::reorg {
namespace {

constexpr std::string_view kTitle = "# muster reorg map 1 ";

bool line_less(const MapLine& a, const MapLine& b) {
  return std::tie(a.repository, a.from) < std::tie(b.repository, b.from);
}

/// Builds few rules from many lines: at each directory the place that most of its files went to.
class Shortener {
 public:
  explicit Shortener(std::vector<std::pair<std::string, std::optional<std::string>>> moves)
      : moves_(std::move(moves)) {
    std::sort(moves_.begin(), moves_.end(),
              [](const auto& a, const auto& b) { return path_less(a.first, b.first); });
  }

  std::vector<MapRule> run() {
    descend("", 0, moves_.size(), "");
    return std::move(rules_);
  }

 private:
  using Moves = std::vector<std::pair<std::string, std::optional<std::string>>>;

  /// Where a file's directory would be, if the file kept its path below it; nothing when it did
  /// not.
  static std::optional<std::string> place(const Moves::value_type& move,
                                          std::string_view directory) {
    if (!move.second) return std::nullopt;
    const std::string_view rest = below(move.first, directory);
    const std::string_view to = *move.second;
    if (to == rest) return std::string();
    if (to.size() <= rest.size() || to.substr(to.size() - rest.size()) != rest ||
        to[to.size() - rest.size() - 1] != '/') {
      return std::nullopt;
    }
    return std::string(to.substr(0, to.size() - rest.size() - 1));
  }

  void descend(std::string_view directory, std::size_t first, std::size_t last,
               const std::string& inherited) {
    std::map<std::string, std::size_t> votes;
    std::size_t fitting = 0;
    for (std::size_t i = first; i < last; ++i) {
      const auto to = place(moves_[i], directory);
      if (!to) continue;
      ++votes[*to];
      if (*to == inherited) ++fitting;
    }
    std::string chosen = inherited;
    std::size_t most = fitting;
    for (const auto& [to, count] : votes) {
      if (count > most) {
        chosen = to;
        most = count;
      }
    }
    if (chosen != inherited && !directory.empty()) {
      rules_.push_back({std::string(directory), chosen, true});
    } else {
      chosen = inherited;
    }
    if (most == last - first && (chosen != inherited || fitting == most)) return;
    for (std::size_t i = first; i < last;) {
      const std::string_view rest = below(moves_[i].first, directory);
      const std::size_t slash = rest.find('/');
      if (slash == std::string_view::npos) {
        const auto to = place(moves_[i], directory);
        if (!to || *to != chosen) rules_.push_back({moves_[i].first, moves_[i].second, false});
        ++i;
        continue;
      }
      const std::string name = joined(directory, rest.substr(0, slash));
      std::size_t end = i;
      while (end < last && is_under(moves_[end].first, name)) ++end;
      descend(name, i, end, joined(chosen, rest.substr(0, slash)));
      i = end;
    }
  }

  Moves moves_;
  std::vector<MapRule> rules_;
};

}  // namespace

std::string write_map(const MoveMap& map) {
  std::string text = std::string(kTitle) + map.plan + "\n";
  std::vector<MapLine> lines = map.lines;
  std::sort(lines.begin(), lines.end(), line_less);
  for (const MapLine& line : lines) {
    text += line.repository + '\t' + quoted_path(line.from) + '\t' +
            (line.to ? quoted_path(*line.to) : std::string("-")) + '\n';
  }
  return text;
}

Result<MoveMap> read_map(std::string_view text, const std::string& file) {
  MoveMap map;
  if (text.substr(0, kTitle.size()) != kTitle)
    return Failure(error_at({file, 1, 1}, "map-title", "this is no map of a reorganisation",
                            fmt::format("its first line starts with \"{}\"", kTitle)));
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (++number == 1) {
      map.plan = line.substr(kTitle.size());
      continue;
    }
    const std::size_t first = line.find('\t');
    const std::size_t second = first == std::string_view::npos ? first : line.find('\t', first + 1);
    if (second == std::string_view::npos || second + 1 == line.size())
      return Failure(error_at({file, number, 1}, "map-line", "the line has no three columns",
                              "repository, old path, new path, with tabs between them"));
    const std::string_view to = line.substr(second + 1);
    map.lines.push_back({std::string(line.substr(0, first)),
                         unquoted_path(line.substr(first + 1, second - first - 1)),
                         to == "-" ? std::nullopt : std::optional(unquoted_path(to))});
  }
  return map;
}

Origins origins_of(const MoveMap& map, const std::string& plan) {
  Origins origins;
  if (map.plan != plan) return origins;
  for (const MapLine& line : map.lines) {
    if (line.to) origins[*line.to] = {line.repository, line.from};
  }
  return origins;
}

MoveMap extended_map(const std::optional<MoveMap>& earlier, const Plan& plan,
                     const Layout& layout) {
  std::map<std::pair<std::string, std::string>, std::optional<std::string>> lines;
  std::map<std::string, std::pair<std::string, std::string>> by_place;  // now -> its line
  if (earlier) {
    for (const MapLine& line : earlier->lines) {
      lines[{line.repository, line.from}] = line.to;
      if (line.to) by_place[*line.to] = {line.repository, line.from};
    }
  }
  for (std::size_t s = 0; s < layout.sides.size(); ++s) {
    const Side& side = layout.sides[s];
    const std::string repository = s == 0 ? std::string() : side.plan->name;
    for (std::size_t i = 0; i < side.images.size(); ++i) {
      const std::string& from = side.tree.files()[i].path;
      const bool dropped = !side.images[i] && side.rules[i] != nullptr;
      if (!dropped && !side.images[i]) continue;  // it had been merged
      if (s == 0 && !dropped && !side.moved(i)) continue;
      const auto known = s == 0 ? by_place.find(from) : by_place.end();
      if (known != by_place.end()) {
        lines[known->second] = side.images[i];
      } else {
        lines[{repository, from}] = side.images[i];
      }
    }
  }
  MoveMap map;
  map.plan = plan.name;
  for (const auto& [key, to] : lines) map.lines.push_back({key.first, key.second, to});
  return map;
}

std::vector<MapRule> shortest_rules(const std::vector<MapLine>& lines,
                                    const std::vector<std::string>& kept) {
  std::vector<std::pair<std::string, std::optional<std::string>>> moves;
  moves.reserve(lines.size() + kept.size());
  for (const MapLine& line : lines) moves.emplace_back(line.from, line.to);
  for (const std::string& path : kept) moves.emplace_back(path, path);
  return Shortener(std::move(moves)).run();
}

std::vector<MapRule> former_rules(const MoveMap& map, const Tree& now) {
  std::vector<MapLine> lines;
  std::set<std::string_view> places;
  for (const MapLine& line : map.lines) {
    if (line.to) places.insert(*line.to);
    if (line.repository.empty()) lines.push_back(line);
  }
  std::vector<std::string> kept;
  for (const File& file : now.files()) {
    if (!places.count(file.path)) kept.push_back(file.path);
  }
  return shortest_rules(lines, kept);
}

std::optional<std::string> map_path(const std::vector<MapRule>& rules, std::string_view path) {
  const MapRule* best = nullptr;
  for (const MapRule& rule : rules) {
    const bool holds = path == rule.from || (rule.directory && is_under(path, rule.from));
    if (holds && (!best || rule.from.size() > best->from.size())) best = &rule;
  }
  if (!best) return std::string(path);
  if (!best->to) return std::nullopt;
  return joined(*best->to, below(path, best->from));
}

}  // namespace muster::reorg
