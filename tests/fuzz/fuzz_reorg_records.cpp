// What a reorganisation reads besides the contents of files: tree objects, messages of commits,
// URLs, rules for paths, maps and plans. What is written down is read back as it was.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "catalog/reorganisation.h"
#include "reorg/anchors.h"
#include "reorg/file_kind.h"
#include "reorg/history.h"
#include "reorg/markdown.h"
#include "reorg/move_map.h"
#include "reorg/path_rules.h"
#include "reorg/paths.h"
#include "reorg/tree.h"
#include "reorg/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::reorg;
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  (void)muster::catalog::read_plan(text, "plan.yaml");
  if (const auto map = read_map(text, "map")) {
    const auto again = read_map(write_map(*map), "map");
    if (!again || again->lines.size() != map->lines.size()) std::abort();
    std::vector<MapLine> lines;
    for (const MapLine& line : map->lines) {
      if (lines.empty() || lines.back().from < line.from) lines.push_back(line);
    }
    const auto rules = shortest_rules(lines, {});
    (void)map_path(rules, text);
  }

  IgnoreRules ignore;
  ignore.add("", text);
  ignore.add("a", text);
  (void)ignore.ignored("a/b/c");
  AttributeRules attributes;
  attributes.add("", text);
  (void)attributes.of("a/b.c");
  (void)OwnerRules(text).of("a/b.c");
  (void)glob_matches(text, "a/b.c");

  if (const auto entries = read_tree_object(text)) {
    for (const File& entry : *entries) {
      if (entry.path.empty()) std::abort();
    }
  }
  (void)qualified_message(text, "acme/serve");
  for (std::size_t begin = text.find("http"); begin != std::string_view::npos;
       begin = text.find("http", begin + 1)) {
    const Span url{begin, url_end(text, begin)};
    if (url.end < begin || url.end > text.size()) std::abort();
    if (const auto parsed = parse_github_url(text, url);
        parsed && (parsed->end > text.size() || parsed->repository.end > parsed->end))
      std::abort();
  }
  (void)heading_anchors(read_markdown(text).headings);
  (void)anchors_of("page.md", text);
  (void)anchors_of("page.html", text);
  (void)file_kind("run", kModeFile, text);

  const std::string whole(text);
  if (unquoted_path(quoted_path(whole)) != whole && whole.front() != '"') std::abort();
  if (percent_decoded(percent_encoded(whole)) != whole && whole.find('%') == std::string::npos)
    std::abort();
  (void)resolve("a/b", text);
  return 0;
}
