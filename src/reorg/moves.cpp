#include "reorg/moves.h"

#include <algorithm>

#include <fmt/format.h>

#include "reorg/collisions.h"
#include "reorg/paths.h"

namespace muster::reorg {
namespace {

bool excepted(const Rule& rule, std::string_view path) {
  return std::any_of(rule.except.begin(), rule.except.end(),
                     [&](const std::string& directory) { return is_under(path, directory); });
}

/// `to` of a pattern rule with $1…$9 filled in.
std::string filled_in(const std::string& to, const Regex::Match& match) {
  std::string text;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == '$' && i + 1 < to.size() && to[i + 1] >= '1' && to[i + 1] <= '9') {
      const auto group = static_cast<std::size_t>(to[++i] - '0');
      if (group < match.groups.size() && match.groups[group]) text += *match.groups[group];
    } else {
      text += to[i];
    }
  }
  return text;
}

/// Where all files of a directory go with their paths below it kept, or nothing.
std::optional<std::string> uniform(const Side& side, const Tree::Directory& directory) {
  std::optional<std::string> result;
  for (std::size_t i = directory.first; i < directory.last; ++i) {
    if (!side.images[i]) continue;
    // As many components as the file has below the directory are taken off.
    std::string_view base = *side.images[i];
    const std::size_t depth = components(below(side.tree.files()[i].path, directory.path)).size();
    for (std::size_t d = 0; d < depth; ++d) {
      if (base.empty()) return std::nullopt;
      base = parent_of(base);
    }
    if (result && *result != base) return std::nullopt;
    result = std::string(base);
  }
  return result;
}

DirectoryImage image_of(const Side& side, const Rules& rules, const Tree::Directory& directory) {
  if (directory.path.empty()) return {DirectoryImage::How::kUniform, ""};
  std::optional<std::string> shared;
  for (std::size_t i = directory.first; i < directory.last; ++i) {
    if (!side.images[i]) continue;
    const std::string_view place = parent_of(*side.images[i]);
    shared = shared ? std::string(common_directory(*shared, place)) : std::string(place);
  }
  if (!shared) return {DirectoryImage::How::kGone, ""};
  // An old place that an earlier run has made the new place of something else is that by now,
  // whatever comes late to the old one.
  for (std::size_t i = directory.first; i < directory.last; ++i) {
    if (!side.arrived.empty() && side.arrived[i] && !side.moved(i))
      return {DirectoryImage::How::kUniform, std::string(directory.path)};
  }
  if (const Rule* rule = rules.exactly(directory.path); rule && rule->kind == Rule::Kind::kMove) {
    // A rule that names the directory says where it is, as long as it moves anything.
    for (std::size_t i = directory.first; i < directory.last; ++i) {
      if (side.rules[i] == rule && side.moved(i)) return {DirectoryImage::How::kUniform, rule->to};
    }
  }
  if (auto base = uniform(side, directory)) return {DirectoryImage::How::kUniform, *base};
  return {DirectoryImage::How::kSplit, *shared};
}

/// Where one file of this repository goes: by its origin, when an earlier run has moved it.
Decision decide(const std::vector<Rules>& rules, const Plan& plan, std::size_t side,
                const std::string& path, const Origins& origins, Findings& findings) {
  if (side == 0) {
    const auto origin = origins.find(path);
    if (origin != origins.end()) {
      for (std::size_t other = 1; other < rules.size(); ++other) {
        if (plan.merged[other - 1].name == origin->second.repository)
          return rules[other].decide(origin->second.path, findings);
      }
      if (origin->second.repository.empty()) return rules[0].decide(origin->second.path, findings);
      return {path, nullptr};
    }
  }
  return rules[side].decide(path, findings);
}

}  // namespace

Rules::Rules(const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) {
    if (rule.kind == Rule::Kind::kMatch) {
      matches_.push_back(&rule);
    } else if (rule.kind == Rule::Kind::kRename) {
      renames_.push_back(&rule);
    } else {
      by_path_.emplace(rule.from, &rule);
    }
  }
}

const Rule* Rules::exactly(std::string_view path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

Decision Rules::by_pattern(std::string_view path, Findings& findings) const {
  Decision decision;
  for (const Rule* rule : matches_) {
    Regex::Match match;
    if (excepted(*rule, path) || rule->pattern->search(path, 0, match) != Regex::Found::kYes ||
        match.begin != 0 || match.end != path.size()) {
      continue;
    }
    std::string to = filled_in(rule->to, match);
    if (decision.rule && *decision.to != to) {
      findings.push_back(
          error_at(rule->where, "plan-two-rules",
                   fmt::format("\"{}\" goes to \"{}\" here and to \"{}\" by line {}",
                               quoted_path(path), to, *decision.to, decision.rule->where.line),
                   "rules hold at once: name the path in `except` of one"));
    }
    if (!decision.rule) decision = {std::move(to), rule};
  }
  return decision;
}

std::string Rules::renamed(std::string_view rest, std::string_view path, const Rule*& used,
                           Findings& findings) const {
  if (renames_.empty()) return std::string(rest);
  const auto parts = components(rest);
  std::string result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string name(parts[i]);
    const Rule* by = nullptr;
    for (const Rule* rule : renames_) {
      Regex::Match match;
      if (i + 1 == parts.size() || excepted(*rule, path) ||
          rule->pattern->search(parts[i], 0, match) != Regex::Found::kYes) {
        continue;
      }
      std::string fresh = std::string(parts[i].substr(0, match.begin)) +
                          filled_in(rule->to, match) + std::string(parts[i].substr(match.end));
      if (fresh == parts[i]) continue;
      if (by && fresh != name) {
        findings.push_back(error_at(rule->where, "plan-two-rules",
                                    fmt::format("\"{}\" becomes \"{}\" here and \"{}\" by line {}",
                                                parts[i], fresh, name, by->where.line),
                                    "rules hold at once: narrow one pattern"));
      }
      name = std::move(fresh);
      by = rule;
    }
    if (by) used = by;
    result = joined(result, name);
  }
  return result;
}

Decision Rules::decide(std::string_view path, Findings& findings) const {
  Decision decision{std::string(path), nullptr};
  const Rule* longest = nullptr;
  std::string_view at = path;
  while (longest == nullptr) {
    longest = exactly(at);
    if (longest || at.empty()) break;
    at = parent_of(at);
  }
  if (longest && longest->kind == Rule::Kind::kKeep) return {std::string(path), longest};
  if (longest && longest->kind == Rule::Kind::kDrop) return {std::nullopt, longest};
  // `a -> a/b` says where a's files go once: what lies in a/b is there already.
  const bool there = longest && longest->to.size() > longest->from.size() &&
                     is_under(longest->to, longest->from) && is_under(path, longest->to);
  if (there) return {std::string(path), longest};
  if (!longest) {
    Decision matched = by_pattern(path, findings);
    if (matched.rule) {
      decision = std::move(matched);
    } else {
      decision.to = renamed(path, path, decision.rule, findings);
    }
  } else {
    decision.rule = longest;
    const Rule* ignored = nullptr;
    decision.to = joined(longest->to, renamed(below(path, longest->from), path, ignored, findings));
  }
  if (decision.rule && !git_can_hold(*decision.to)) {
    findings.push_back(error_at(decision.rule->where, "plan-path",
                                fmt::format("git can't hold \"{}\", where \"{}\" would go",
                                            quoted_path(*decision.to), quoted_path(path)),
                                "a path from the root, without '.', '..' or '.git'"));
  }
  return decision;
}

std::optional<std::string> Side::image(const Entry& entry) const {
  if (!entry.directory) return images[entry.index];
  const DirectoryImage& image = directories[entry.index];
  if (image.how == DirectoryImage::How::kGone) return std::nullopt;
  return image.path;
}

void fill_directories(Side& side, const Rules& rules) {
  side.directories.clear();
  for (const Tree::Directory& directory : side.tree.directories())
    side.directories.push_back(image_of(side, rules, directory));
}

Moves make_moves(const Plan& plan, std::vector<Tree> trees, const Origins& origins) {
  Moves moves;
  const auto sides = plan.sides();
  std::vector<Rules> rules;
  rules.reserve(sides.size());
  for (const RepositoryPlan* side : sides) rules.emplace_back(side->rules);
  // What has been merged already lies in this repository's tree.
  std::unordered_map<std::string, bool> merged;
  for (const auto& [path, origin] : origins) {
    if (!origin.repository.empty() && trees[0].has(path))
      merged[origin.repository + '\n' + origin.path] = true;
  }
  for (std::size_t s = 0; s < trees.size(); ++s) {
    Side side;
    side.plan = sides[s];
    side.tree = std::move(trees[s]);
    std::unordered_map<const Rule*, bool> used;
    for (const File& file : side.tree.files()) {
      Decision decision;
      if (s == 0 || !merged.count(side.plan->name + '\n' + file.path))
        decision = decide(rules, plan, s, file.path, origins, moves.findings);
      if (decision.rule) used[decision.rule] = true;
      side.images.push_back(std::move(decision.to));
      side.rules.push_back(decision.rule);
      const auto origin = s == 0 ? origins.find(file.path) : origins.end();
      side.arrived.push_back(origin != origins.end() && (!origin->second.repository.empty() ||
                                                         origin->second.path != file.path));
    }
    for (const Rule& rule : side.plan->rules) {
      if (used.count(&rule) || !origins.empty()) continue;
      moves.findings.push_back(
          warning_at(rule.where, "reorg-unused",
                     fmt::format("no file is decided by the rule for \"{}\"", rule.from),
                     "an earlier run may have moved them, or the path is misspelt"));
    }
    fill_directories(side, rules[s]);
    moves.layout.sides.push_back(std::move(side));
  }
  if (has_errors(moves.findings)) return moves;
  const Findings clashes = find_clashes(moves.layout.sides);
  moves.collided = has_errors(clashes);
  moves.findings.insert(moves.findings.end(), clashes.begin(), clashes.end());
  if (moves.collided) return moves;

  std::vector<std::pair<File, Source>> files;
  for (std::size_t s = 0; s < moves.layout.sides.size(); ++s) {
    const Side& side = moves.layout.sides[s];
    for (std::size_t i = 0; i < side.images.size(); ++i) {
      if (!side.images[i]) continue;
      const File& file = side.tree.files()[i];
      files.push_back({File{*side.images[i], file.mode, file.id}, Source{s, i}});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return path_less(a.first.path, b.first.path); });
  std::vector<File> after;
  for (auto& [file, source] : files) {
    after.push_back(std::move(file));
    moves.layout.sources.push_back(source);
  }
  moves.layout.after = Tree(std::move(after));
  return moves;
}

}  // namespace muster::reorg
