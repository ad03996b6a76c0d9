#include "reorg/compat.h"

#include <algorithm>

#include <fmt/format.h>

#include "reorg/paths.h"

namespace muster::reorg {
namespace {

class Compat {
 public:
  Compat(const std::vector<MapLine>& lines, const Tree& tree, CompatForm form)
      : tree_(tree), form_(form) {
    for (const MapLine& line : lines) {
      if (line.repository.empty() && line.to && line.from != *line.to) lines_.push_back(line);
    }
    std::sort(lines_.begin(), lines_.end(),
              [](const MapLine& a, const MapLine& b) { return path_less(a.from, b.from); });
  }

  std::vector<CompatFile> run() {
    descend("", 0, lines_.size());
    return std::move(files_);
  }

 private:
  /// Where all lines of a directory went, with the paths below it kept.
  std::optional<std::string> place(std::string_view directory, std::size_t first,
                                   std::size_t last) const {
    std::optional<std::string> found;
    for (std::size_t i = first; i < last; ++i) {
      const std::string_view rest = below(lines_[i].from, directory);
      const std::string& to = *lines_[i].to;
      if (to.size() <= rest.size() ||
          std::string_view(to).substr(to.size() - rest.size()) != rest ||
          to[to.size() - rest.size() - 1] != '/') {
        return std::nullopt;
      }
      std::string base = to.substr(0, to.size() - rest.size() - 1);
      if (found && *found != base) return std::nullopt;
      found = std::move(base);
    }
    return found;
  }

  void descend(std::string_view directory, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last;) {
      const std::string_view rest = below(lines_[i].from, directory);
      const std::size_t slash = rest.find('/');
      if (slash == std::string_view::npos) {
        file(lines_[i]);
        ++i;
        continue;
      }
      const std::string name = joined(directory, rest.substr(0, slash));
      std::size_t end = i;
      while (end < last && is_under(lines_[end].from, name)) ++end;
      const auto to = place(name, i, end);
      if (to && !tree_.has(name)) {
        group(name, *to, i, end);
      } else {
        descend(name, i, end);
      }
      i = end;
    }
  }

  /// A directory that went to one place.
  void group(const std::string& from, const std::string& to, std::size_t first, std::size_t last) {
    switch (form_) {
      case CompatForm::kSymlinks:
        files_.push_back({from, true, relative_to(parent_of(from), to), {}});
        return;
      case CompatForm::kStubs: {
        const std::string link = relative_to(from, to);
        files_.push_back(
            {from + "/README.md",
             false,
             fmt::format("# {0} has moved\n\nIt is at [{1}]({2}) now.\n", name_of(from), to, link),
             {}});
        return;
      }
      case CompatForm::kCopies:
        for (std::size_t i = first; i < last; ++i) file(lines_[i]);
    }
  }

  void file(const MapLine& line) {
    if (tree_.has(line.from)) return;
    if (form_ == CompatForm::kSymlinks)
      files_.push_back({line.from, true, relative_to(parent_of(line.from), *line.to), {}});
    if (form_ == CompatForm::kCopies) files_.push_back({line.from, false, {}, *line.to});
  }

  const Tree& tree_;
  CompatForm form_;
  std::vector<MapLine> lines_;
  std::vector<CompatFile> files_;
};

}  // namespace

std::optional<CompatForm> parse_compat(std::string_view name) {
  if (name == "symlinks") return CompatForm::kSymlinks;
  if (name == "stubs") return CompatForm::kStubs;
  if (name == "copies") return CompatForm::kCopies;
  return std::nullopt;
}

const char* serves(CompatForm form) {
  switch (form) {
    case CompatForm::kSymlinks:
      return "serves clones that enter the directory; does not serve raw URLs (they get the link's "
             "text), the contents API, or Windows without core.symlinks";
    case CompatForm::kStubs:
      return "serves readers of blob and tree pages; does not serve programs";
    case CompatForm::kCopies:
      return "serves raw URLs, the contents API and clones; grows old when the original changes";
  }
  return "";
}

std::vector<CompatFile> compat_files(const std::vector<MapLine>& lines, const Tree& tree,
                                     CompatForm form) {
  return Compat(lines, tree, form).run();
}

}  // namespace muster::reorg
