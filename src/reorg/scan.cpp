#include "reorg/scan.h"

#include <algorithm>

#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {

Scan::Scan(const World& world, const Source& file, std::string_view content)
    : world_(world),
      file_(file),
      content_(content),
      kind_(file_kind(world.tree(file.side).files()[file.file].path,
                      world.tree(file.side).files()[file.file].mode, content)),
      directory_(world.directory_of(file)),
      root_(world.root(file.side)),
      first_root_(world.root(0)) {}

Reference& Scan::add(Span span, const char* kind, std::size_t side, std::string target) {
  Reference found;
  found.offset = span.begin;
  found.text = std::string(slice(content_, span));
  found.kind = kind;
  found.side = side;
  found.target = std::move(target);
  out_.push_back(std::move(found));
  return out_.back();
}

bool Scan::taken(Span span) const {
  const auto after =
      std::upper_bound(taken_.begin(), taken_.end(), span.begin,
                       [](std::size_t at, const Span& other) { return at < other.end; });
  return after != taken_.end() && after->begin < span.end;
}

std::string_view Scan::line_around(std::size_t offset) const {
  const std::size_t before = content_.rfind('\n', offset == 0 ? 0 : offset - 1);
  const std::size_t begin = before == std::string_view::npos || offset == 0 ? 0 : before + 1;
  const std::size_t end = std::min(content_.find('\n', offset), content_.size());
  return content_.substr(begin, end - begin);
}

References Scan::run() {
  if (kind_ == FileKind::kBinary) return {};
  if (kind_ == FileKind::kSymlink) {
    symlink();
    return std::move(out_);
  }
  if (kind_ == FileKind::kIgnore || kind_ == FileKind::kAttributes || kind_ == FileKind::kOwners) {
    pattern_lines();
  } else if (kind_ == FileKind::kModules) {
    module_lines();
  } else {
    Markdown page;
    if (kind_ == FileKind::kMarkdown) {
      page = read_markdown(content_);
      markdown_links(page);
    } else if (kind_ == FileKind::kHtml) {
      html_attributes({0, content_.size()});
    }
    if (kind_ == FileKind::kPython) imports();
    diagrams();
    const auto by_place = [](const Span& a, const Span& b) { return a.begin < b.begin; };
    std::sort(taken_.begin(), taken_.end(), by_place);
    tokens(page);
    settle_clones();
  }
  std::stable_sort(out_.begin(), out_.end(),
                   [](const Reference& a, const Reference& b) { return a.offset < b.offset; });
  // A text that two readings found belongs to the first of them.
  References apart;
  std::size_t end = 0;
  for (Reference& found : out_) {
    if (found.offset < end) continue;
    end = found.offset + found.text.size();
    apart.push_back(std::move(found));
  }
  return apart;
}

References scan_file(const World& world, const Source& file, std::string_view content) {
  return Scan(world, file, content).run();
}

}  // namespace muster::reorg
