// The readers of foreign text of a reorganisation: every kind of file, the plan, the map. Nothing
// crashes, and edits say what stood there.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "reorg/move_map.h"
#include "reorg/moves.h"
#include "reorg/path_rules.h"
#include "reorg/plan.h"
#include "reorg/scan.h"
#include "reorg/world.h"

namespace {

constexpr const char* kPlan =
    "apiVersion: muster/v1\nkind: Reorganisation\nname: fuzz\nrules:\n"
    "  - {move: 1.arch, to: arch}\n  - {move: 2. Set Up, to: set-up/now}\n";
constexpr const char* kNames[] = {"a.md",        "b.sh",          "c.yaml",     "d.ipynb",
                                  "e.html",      ".gitignore",    "CODEOWNERS", ".gitattributes",
                                  ".gitmodules", ".github/w.yml", "Dockerfile"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::reorg;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)read_plan(text, "plan.yaml");
  (void)read_map(text, "map");
  IgnoreRules ignore;
  ignore.add("", text);
  (void)ignore.ignored("a/b/c");
  AttributeRules attributes;
  attributes.add("", text);
  (void)attributes.of("a/b.c");
  (void)OwnerRules(text).of("a/b.c");

  static const Plan kRead = std::move(*read_plan(kPlan, "plan.yaml"));
  std::vector<File> files = {{"1.arch/x/y.sh", kModeFile, {}}, {"2. Set Up/z", kModeFile, {}}};
  for (const char* name : kNames) files.push_back({name, kModeFile, {}});
  std::vector<Tree> trees;
  trees.emplace_back(std::move(files));
  const Moves moves = make_moves(kRead, std::move(trees), {});
  const World world(moves.layout, {{{"acme/widgets"}, {"main"}, {"v1"}}});
  const auto& listed = moves.layout.sides[0].tree.files();
  for (std::size_t i = 0; i < listed.size(); ++i) {
    std::size_t end = 0;
    for (const Reference& found : scan_file(world, {0, i}, text)) {
      const bool stood = text.substr(found.offset, found.text.size()) == found.text;
      if (!stood || found.offset < end) std::abort();
      end = found.offset + found.text.size();
    }
  }
  return 0;
}
