#include "reorg/repair.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "reorg/paths.h"
#include "reorg/url.h"

namespace muster::reorg {
namespace {

/// The text with a new target: from the file's directory or the root, as it was written.
std::string written_anew(const World& world, const Placed& dead, const Target& target) {
  const std::string& text = dead.reference.text;
  std::string fresh;
  if (std::string_view(dead.reference.kind) == "url" || text.find("://") != std::string::npos) {
    fresh = *target.after;
  } else if (text.front() == '/') {
    fresh = "/" + *target.after;
  } else {
    fresh = relative_to(world.directory_of(dead.file).after, *target.after);
    if (text.substr(0, 2) == "./" && fresh.substr(0, 3) != "../") fresh.insert(0, "./");
  }
  if (text.back() == '/' && fresh.back() != '/') fresh += '/';
  const bool encode =
      text.find('%') != std::string::npos || fresh.find_first_of(" ()") != std::string::npos;
  return encode && std::string_view(dead.reference.kind) != "symlink" ? percent_encoded(fresh)
                                                                      : fresh;
}

}  // namespace

RenameChains::RenameChains(std::vector<Rename> renames, const Tree& tree)
    : renames_(std::move(renames)), tree_(tree) {
  for (std::size_t i = 0; i < renames_.size(); ++i) by_source_[renames_[i].from].push_back(i);
}

std::optional<std::string> RenameChains::follow(std::string path, std::size_t from) const {
  for (;;) {
    const auto events = by_source_.find(path);
    const auto next = events == by_source_.end()
                          ? std::vector<std::size_t>::const_iterator()
                          : std::lower_bound(events->second.begin(), events->second.end(), from);
    if (events == by_source_.end() || next == events->second.end()) {
      if (!tree_.has(path)) return std::nullopt;
      return path;
    }
    from = *next + 1;
    path = renames_[*next].to;
  }
}

std::optional<std::string> RenameChains::now(std::string_view gone) const {
  // The last time that the path was given up is the one that a reader means.
  const auto events = by_source_.find(std::string(gone));
  if (events != by_source_.end()) return follow(std::string(gone), events->second.back());
  // A directory: where all of its files went, with the paths below it kept.
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < renames_.size(); ++i) {
    if (is_under(renames_[i].from, gone) && !gone.empty()) last[renames_[i].from] = i;
  }
  std::optional<std::string> place;
  for (const auto& [path, event] : last) {
    const auto to = follow(path, event);
    if (!to) continue;
    const std::string_view rest = below(path, gone);
    if (to->size() <= rest.size() ||
        to->compare(to->size() - rest.size(), rest.size(), rest) != 0 ||
        (*to)[to->size() - rest.size() - 1] != '/') {
      continue;
    }
    std::string base = to->substr(0, to->size() - rest.size() - 1);
    if (place && *place != base) return std::nullopt;
    place = std::move(base);
  }
  return place;
}

std::vector<Placed> find_repairs(const World& world, const RenameChains& chains,
                                 const std::vector<Placed>& dead) {
  std::vector<Placed> repairs;
  for (const Placed& each : dead) {
    if (each.reference.side != 0 || each.file.side != 0 || each.reference.text.empty()) continue;
    const bool is_url = std::string_view(each.reference.kind) == "url" ||
                        each.reference.text.find("://") != std::string::npos;
    std::string reason;
    std::optional<Target> target;
    if (const auto now = chains.now(each.reference.target)) {
      target = world.target(0, *now);
      reason = fmt::format("{} was renamed to {}", each.reference.target, *now);
    }
    if (!target && !is_url) {
      // More "../" than there are levels: what follows them is a path from the root.
      const auto place =
          resolve(world.directory_of(each.file).before, percent_decoded(each.reference.text));
      if (place.above > 0 && !place.path.empty()) {
        target = world.target(0, place.path);
        reason = "it climbed out of the repository";
      }
    }
    if (!target || !target->after) continue;
    Placed repair = each;
    repair.reference.replacement = written_anew(world, each, *target);
    repair.reference.reason = reason;
    if (*repair.reference.replacement != repair.reference.text)
      repairs.push_back(std::move(repair));
  }
  return repairs;
}

}  // namespace muster::reorg
