// The scanner of a reorganisation on every kind of file, in the repository, in one that is merged
// and in one that only points there. Nothing crashes, and edits say what stood there.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "reorg/moves.h"
#include "reorg/plan.h"
#include "reorg/scan.h"
#include "reorg/world.h"

namespace {

constexpr const char* kPlan =
    "apiVersion: muster/v1\nkind: Reorganisation\nname: fuzz\nrules:\n"
    "  - {move: 1.arch, to: arch}\n  - {move: 2. Set Up, to: set-up/now}\n"
    "merge:\n  - name: acme/serve\n    from: serve\n    rules:\n"
    "      - {match: '(.*)', to: 'serve/$1'}\n";
constexpr const char* kNames[] = {"a.md",        "b.sh",          "c.yaml",     "d.ipynb",
                                  "e.html",      ".gitignore",    "CODEOWNERS", ".gitattributes",
                                  ".gitmodules", ".github/w.yml", "Dockerfile"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::reorg;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const Plan kRead = std::move(*read_plan(kPlan, "plan.yaml"));
  const auto tree = [] {
    std::vector<File> files = {{"1.arch/x/y.sh", kModeFile, {}}, {"2. Set Up/z", kModeFile, {}}};
    for (const char* name : kNames) files.push_back({name, kModeFile, {}});
    return Tree(std::move(files));
  };
  std::vector<Tree> trees;
  trees.push_back(tree());
  trees.push_back(tree());
  const Moves moves = make_moves(kRead, std::move(trees), {});
  World world(moves.layout, {{{"acme/widgets"}, {"main"}, {"v1"}}, {{"acme/serve"}, {"main"}, {}}});
  for (const bool foreign : {false, true}) {
    if (foreign) world.set_foreign(1);
    for (std::size_t side = 0; side < world.sides(); ++side) {
      for (std::size_t i = 0; i < world.tree(side).files().size(); ++i) {
        std::size_t end = 0;
        for (const Reference& found : scan_file(world, {side, i}, text)) {
          const bool stood = text.substr(found.offset, found.text.size()) == found.text;
          if (!stood || found.offset < end) std::abort();
          end = found.offset + found.text.size();
        }
      }
    }
  }
  return 0;
}
