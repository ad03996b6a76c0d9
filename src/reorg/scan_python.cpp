// Python: modules that are imported by a path that moves, and counts of levels above the script.
// Both are proposed only: what is on sys.path is decided at run time.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "reorg/characters.h"
#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {
namespace {

/// The dotted name at `at`; relative ones (".x") are not looked at: they move with their package.
std::string_view dotted(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && (is_name_character(line[end]) || line[end] == '.')) ++end;
  return line.substr(at, end - at);
}

bool is_module(std::string_view path) {
  const auto parts = components(path);
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return !part.empty() && !(part[0] >= '0' && part[0] <= '9') &&
           std::all_of(part.begin(), part.end(), is_name_character);
  });
}

}  // namespace

void Scan::imports() {
  for (std::size_t begin = 0; begin < content_.size();) {
    const std::size_t end = std::min(content_.find('\n', begin), content_.size());
    const std::string_view line = content_.substr(begin, end - begin);
    const std::size_t word = line.find_first_not_of(" \t");
    if (word != std::string_view::npos) {
      const std::size_t name = line.compare(word, 5, "from ") == 0     ? word + 5
                               : line.compare(word, 7, "import ") == 0 ? word + 7
                                                                       : 0;
      if (name > 0) imported({begin + name, begin + name + dotted(line, name).size()});
      const std::size_t parents = line.find("__file__");
      if (parents != std::string_view::npos) levels({begin, end});
    }
    begin = end + 1;
  }
}

void Scan::imported(Span span) {
  std::string path(slice(content_, span));
  if (path.empty() || path.front() == '.' || path.find('.') == std::string::npos) return;
  std::replace(path.begin(), path.end(), '.', '/');
  for (const Base& base : {directory_, world_.root(file_.side)}) {
    auto found = resolve_under(base, path);
    const bool file = !found;
    if (!found) found = resolve_under(base, path + ".py");
    if (!found) continue;
    taken_.push_back(span);
    Reference& reference = add(span, "import", found->target.side, found->target.before);
    reference.confidence = Confidence::kUnsure;
    reference.reason = "its target is dropped";
    if (!found->target.after) return;
    std::string fresh = world_.rewritten(base, file ? path + ".py" : path, found->target);
    if (file && fresh.size() > 3) fresh.resize(fresh.size() - 3);
    if (fresh == path) {
      reference.confidence = Confidence::kLikely;
      reference.reason.clear();
      return;
    }
    reference.reason =
        fmt::format("the module {} moves to {}", found->target.before, *found->target.after);
    if (is_module(fresh)) {
      std::replace(fresh.begin(), fresh.end(), '/', '.');
      reference.replacement = fresh;
    }
    return;
  }
}

void Scan::levels(Span line) {
  // Path(__file__).parents[N]: N levels above the script's directory.
  constexpr std::string_view kParents = ".parents[";
  const std::string_view text = slice(content_, line);
  const std::size_t at = text.find(kParents);
  if (at == std::string_view::npos) return;
  const std::size_t number = at + kParents.size();
  std::size_t count = 0;
  const auto [stop, error] =
      std::from_chars(text.data() + number, text.data() + text.size(), count);
  const std::size_t size = static_cast<std::size_t>(stop - (text.data() + number));
  if (error != std::errc() || count > components(directory_.before).size()) return;
  std::string_view pivot = directory_.before;
  for (std::size_t i = 0; i < count; ++i) pivot = parent_of(pivot);
  const std::string after = world_.directory(file_.side, pivot).after;
  if (!is_under(directory_.after, after)) return;
  const std::size_t levels = components(below(directory_.after, after)).size();
  if (levels == count) return;
  Reference& reference = add({line.begin + number, line.begin + number + size}, "levels",
                             file_.side, std::string(pivot));
  reference.replacement = std::to_string(levels);
  reference.confidence = Confidence::kUnsure;
  reference.reason = fmt::format("the script's depth changes; {} is now {} levels up",
                                 pivot.empty() ? "the root" : std::string(pivot), levels);
}

}  // namespace muster::reorg
