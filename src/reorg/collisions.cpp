#include "reorg/collisions.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "reorg/paths.h"

namespace muster::reorg {
namespace {

class Clashes {
 public:
  explicit Clashes(const std::vector<Side>& sides) : sides_(sides) {}

  Findings find() {
    for (std::size_t s = 0; s < sides_.size(); ++s) {
      for (std::size_t i = 0; i < sides_[s].images.size(); ++i) {
        if (sides_[s].images[i]) place({s, i});
      }
    }
    for (const auto& [path, source] : files_) check_directories(path, source);
    std::sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
      return std::tie(a.rule, a.message) < std::tie(b.rule, b.message);
    });
    return std::move(findings_);
  }

 private:
  const std::string& image(const Source& source) const {
    return *sides_[source.side].images[source.file];
  }
  const File& file(const Source& source) const {
    return sides_[source.side].tree.files()[source.file];
  }

  /// The old path, with its repository unless it is this one.
  std::string shown(const Source& source) const {
    const std::string path = quoted_path(file(source).path);
    return source.side == 0 ? path : sides_[source.side].plan->name + ":" + path;
  }

  Position where(const Source& a, const Source& b) const {
    for (const Source& source : {b, a}) {
      if (const Rule* rule = sides_[source.side].rules[source.file]) return rule->where;
    }
    for (const Source& source : {b, a}) {
      if (sides_[source.side].plan->where.line > 0) return sides_[source.side].plan->where;
    }
    return {};
  }

  void report(Severity severity, const char* rule, const Source& a, const Source& b,
              std::string message, const char* hint) {
    findings_.push_back({severity, rule, where(a, b), std::move(message), hint});
  }

  void place(const Source& source) {
    const auto [there, is_new] = files_.emplace(image(source), source);
    if (is_new) return;
    const bool same =
        file(there->second).id == file(source).id && file(there->second).mode == file(source).mode;
    report(Severity::kError, same ? "reorg-same" : "reorg-collision", there->second, source,
           fmt::format("{} {}: {} and {}", same ? "SAME" : "COLLISION", quoted_path(image(source)),
                       shown(there->second), shown(source)),
           same ? "their contents are equal: drop one" : "rename or drop one");
  }

  void check_directories(std::string_view path, const Source& source) {
    for (std::string_view at = path; !at.empty(); at = parent_of(at)) {
      if (at.size() < path.size()) {
        const auto other = files_.find(at);
        if (other != files_.end() && !said_[std::string(at)]) {
          said_[std::string(at)] = true;
          report(Severity::kError, "reorg-dir-file", other->second, source,
                 fmt::format("DIR-FILE {}: {} would be a file where {} needs a directory",
                             quoted_path(at), shown(other->second), shown(source)),
                 "rename one");
        }
      }
      const auto [spelling, is_new] = spellings_.emplace(lower(at), std::pair(at, source));
      if (!is_new && spelling->second.first == at) break;  // and so are those around it
      if (!is_new) differ_by_case(spelling->second, {at, source});
    }
  }

  void differ_by_case(const std::pair<std::string_view, Source>& a,
                      const std::pair<std::string_view, Source>& b) {
    std::string key = std::string(a.first) + '\n' + std::string(b.first);
    if (said_[key]) return;
    said_[key] = true;
    // It was so before when both lay under names that differed by case only.
    const bool before =
        a.second.side == b.second.side && was_before(a.second, a.first, b.second, b.first);
    report(before ? Severity::kWarning : Severity::kError, "reorg-case", a.second, b.second,
           fmt::format("CASE {} {}: some file systems can't hold both", quoted_path(a.first),
                       quoted_path(b.first)),
           before ? "it was so before" : "rename one");
  }

  bool was_before(const Source& a, std::string_view new_a, const Source& b,
                  std::string_view new_b) const {
    const auto old_part = [&](const Source& source, std::string_view part) {
      const std::size_t levels = components(below(image(source), part)).size();
      std::string_view path = file(source).path;
      for (std::size_t i = 0; i < levels; ++i) path = parent_of(path);
      return path;
    };
    const std::string_view old_a = old_part(a, new_a), old_b = old_part(b, new_b);
    return old_a != old_b && lower(old_a) == lower(old_b);
  }

  const std::vector<Side>& sides_;
  Findings findings_;
  std::map<std::string, Source, std::less<>> files_;
  std::unordered_map<std::string, std::pair<std::string_view, Source>> spellings_;
  std::unordered_map<std::string, bool> said_;
};

}  // namespace

Findings find_clashes(const std::vector<Side>& sides) {
  return Clashes(sides).find();
}

}  // namespace muster::reorg
