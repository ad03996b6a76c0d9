// What holds for every tree and every plan.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "random_tree.h"
#include "reorg/markdown.h"
#include "reorg/move_map.h"

namespace muster::reorg::testing {
namespace {

/// Where an old path is after the run: of a directory, as the layout says.
std::optional<std::string> image(const Case& c, const std::string& path) {
  const auto target = c.world().target(0, path);
  return target ? target->after : std::nullopt;
}

struct Drawn {
  RandomTree tree;
  std::vector<std::pair<std::string, std::string>> moves;
};

Drawn draw(bool odd = true) {
  Drawn drawn{RandomTree(*rc::gen::arbitrary<unsigned>(), odd), {}};
  drawn.moves = drawn.tree.moves();
  return drawn;
}

RC_GTEST_PROP(ReorgProperties, P1EveryLinkLeadsToTheImageOfItsTarget, ()) {
  Drawn d = draw();
  Case c(plan_text(d.moves), {d.tree.texts()});
  c.run();
  RC_PRE(!c.moves.collided);
  for (const Expectation& each : d.tree.expectations()) {
    const auto file = image(c, each.file);
    const auto target = c.world().target(0, each.target);
    RC_ASSERT(file.has_value());
    RC_ASSERT(target.has_value());
    if (target->split && target->after->empty()) continue;  // proposed, not written
    const std::string link = link_of_line(c.after.at(*file), each.line);
    const auto place = resolve(parent_of(*file), percent_decoded(link));
    RC_ASSERT(place.above == 0);
    RC_ASSERT(place.path == *target->after);
  }
}

RC_GTEST_PROP(ReorgProperties, P2RunTwiceIsRunOnce, ()) {
  Drawn d = draw();
  Case c(plan_text(d.moves), {d.tree.texts()});
  c.run();
  RC_PRE(!c.moves.collided);
  Case again(plan_text(d.moves), {c.after});
  again.origins = c.next_origins();
  again.run();
  RC_ASSERT(again.after == c.after);
  RC_ASSERT(again.rewriting.edits.empty());
}

RC_GTEST_PROP(ReorgProperties, P3OnePlanAfterAnotherIsTheirComposition, ()) {
  Drawn d = draw();
  Case first(plan_text(d.moves), {d.tree.texts()});
  first.run();
  RC_PRE(!first.moves.collided && first.rewriting.proposals.empty());
  const Side& side = first.moves.layout.sides[0];
  // The second plan puts everything below a directory; the composed one names each file.
  std::vector<std::pair<std::string, std::string>> second, composed;
  std::set<std::string> tops;
  for (const auto& [path, text] : first.after)
    tops.insert(path.substr(0, std::min(path.find('/'), path.size())));
  for (const std::string& top : tops) second.emplace_back(top, "all/" + top);
  for (std::size_t i = 0; i < side.images.size(); ++i)
    composed.emplace_back(side.tree.files()[i].path, "all/" + *side.images[i]);
  Case after(plan_text(second), {first.after}), at_once(plan_text(composed), {d.tree.texts()});
  after.run();
  at_once.run();
  RC_ASSERT(after.after.size() == at_once.after.size());
  for (const auto& [path, text] : after.after) RC_ASSERT(at_once.after.count(path) == 1U);
  // Links to files lead to the same places; those to split directories may name another one.
  for (const Expectation& each : d.tree.expectations()) {
    if (!d.tree.texts().count(each.target)) continue;
    const std::string file = *image(at_once, each.file);
    for (const Case* c : {&after, &at_once}) {
      const std::string link = link_of_line(c->after.at(file), each.line);
      RC_ASSERT(resolve(parent_of(file), percent_decoded(link)).path ==
                *image(at_once, each.target));
    }
  }
}

RC_GTEST_PROP(ReorgProperties, P4TheInverseRestoresTheTree, ()) {
  Drawn d = draw();
  Case c(plan_text(d.moves), {d.tree.texts()});
  c.run();
  RC_PRE(!c.moves.collided && c.rewriting.proposals.empty());
  const auto& directories = c.moves.layout.sides[0].directories;
  RC_PRE(std::none_of(directories.begin(), directories.end(), [](const DirectoryImage& each) {
    return each.how == DirectoryImage::How::kSplit;
  }));
  // Two directories in one place can't be told apart on the way back.
  std::set<std::string> places;
  for (const auto& each : directories) RC_PRE(places.insert(each.path).second);
  std::vector<std::pair<std::string, std::string>> inverse;
  for (std::size_t i = 0; i < c.moves.layout.sides[0].images.size(); ++i) {
    inverse.emplace_back(*c.moves.layout.sides[0].images[i],
                         c.moves.layout.sides[0].tree.files()[i].path);
  }
  Case back(plan_text(inverse), {c.after});
  back.run();
  for (const auto& [path, text] : d.tree.texts()) RC_ASSERT(back.after.count(path) == 1U);
  RC_ASSERT(back.after.size() == d.tree.texts().size());
}

RC_GTEST_PROP(ReorgProperties, P5TheOrderOfRulesDoesNotMatter, ()) {
  Drawn d = draw();
  auto reversed = d.moves;
  std::reverse(reversed.begin(), reversed.end());
  Case a(plan_text(d.moves), {d.tree.texts()}), b(plan_text(reversed), {d.tree.texts()});
  a.run();
  b.run();
  RC_ASSERT(a.moves.collided == b.moves.collided);
  RC_ASSERT(a.after == b.after);
}

RC_GTEST_PROP(ReorgProperties, P6AnIdentityPlanEditsNothing, ()) {
  Drawn d = draw();
  Case c(plan_text({}), {d.tree.texts()});
  c.run();
  RC_ASSERT(c.rewriting.edits.empty());
  RC_ASSERT(c.rewriting.proposals.empty());
  RC_ASSERT(c.after == d.tree.texts());
}

RC_GTEST_PROP(ReorgProperties, P7EditsSayWhatStoodThere, ()) {
  Drawn d = draw();
  Case c(plan_text(d.moves), {d.tree.texts()});
  c.run();
  for (const Placed& edit : c.rewriting.edits) {
    const auto& path = c.moves.layout.sides[0].tree.files()[edit.file.file].path;
    const std::string& text = d.tree.texts().at(path);
    RC_ASSERT(text.substr(edit.reference.offset, edit.reference.text.size()) ==
              edit.reference.text);
    RC_ASSERT(edit.reference.replacement->find('\n') == std::string::npos);
  }
}

RC_GTEST_PROP(ReorgProperties, P8ThreadsDoNotMatter, ()) {
  Drawn d = draw();
  Case one(plan_text(d.moves), {d.tree.texts()}), eight(plan_text(d.moves), {d.tree.texts()});
  eight.threads = 8;
  one.run();
  eight.run();
  RC_ASSERT(one.after == eight.after);
  RC_ASSERT(one.rewriting.edits.size() == eight.rewriting.edits.size());
}

RC_GTEST_PROP(ReorgProperties, P9OnlyANewFileAtAnOldPathMoves, ()) {
  Drawn d = draw(false);
  Case c(plan_text(d.moves), {d.tree.texts()});
  c.run();
  RC_PRE(!c.moves.collided && !d.moves.empty() && c.rewriting.proposals.empty());
  Texts more = c.after;
  const std::string path = d.moves.front().first + "/late.txt";
  RC_PRE(std::none_of(more.begin(), more.end(), [&](const auto& each) {
    return is_under(path, each.first) || is_under(each.first, path);
  }));
  more[path] = "late";
  Case again(plan_text(d.moves), {more});
  again.origins = c.next_origins();
  again.run();
  RC_PRE(!again.moves.collided);
  std::size_t moved = 0;
  const Side& side = again.moves.layout.sides[0];
  for (std::size_t i = 0; i < side.images.size(); ++i) moved += side.moved(i) ? 1 : 0;
  RC_ASSERT(moved == 1U);
  RC_ASSERT(again.rewriting.edits.empty());
}

// An old place may have become the new place of something else: then what points there stays.
TEST(ReorgProperties, P9AnOldPlaceMayBeANewOneByNow) {
  const std::vector<std::pair<std::string, std::string>> moves = {{"eks", "new"},
                                                                  {"common/4.md", "eks/4.md"}};
  Case c(plan_text(moves),
         {Texts{{"eks/a.md", "a"}, {"common/4.md", "x"}, {"page.md", "[text](common)"}}});
  c.run();
  EXPECT_EQ(c.after.at("page.md"), "[text](eks)");
  Texts more = c.after;
  more["eks/late.txt"] = "late";
  Case again(plan_text(moves), {more});
  again.origins = c.next_origins();
  again.run();
  EXPECT_EQ(again.after.count("new/late.txt"), 1U);
  EXPECT_EQ(again.after.at("page.md"), "[text](eks)");
}

RC_GTEST_PROP(ReorgProperties, P10AnyBytesAreRead, (std::vector<std::string> lines)) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n../1.arch/x `1.arch/` [a](1.arch/x) ";
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "../";
  Texts texts = {{"1.arch/x", "x"}, {"deep.md", "[d](" + deep + "1.arch/x) " + deep}};
  for (const char* name :
       {"a.md", "b.sh", "c.yaml", "d.ipynb", "e.html", ".gitignore", "CODEOWNERS", ".gitattributes",
        ".gitmodules", ".github/workflows/w.yml", "Dockerfile", "n\nl\"q'\\*[.md"}) {
    texts[name] = text;
  }
  Case c(texts, "1.arch -> arch");
  c.run();
  for (const Placed& edit : c.rewriting.edits) RC_ASSERT(!edit.reference.target.empty());
  RC_ASSERT(c.after.size() == texts.size());
}

RC_GTEST_PROP(ReorgProperties, P12MergeThenSplitGivesBothTrees, ()) {
  const RandomTree first(*rc::gen::arbitrary<unsigned>()), second(*rc::gen::arbitrary<unsigned>());
  std::string plan = std::string(kHead) + "rules:\n";
  for (const auto& [path, text] : first.texts())
    plan += "  - {move: \"" + path + "\", to: \"left/" + path + "\"}\n";
  plan += "merge:\n  - name: acme/serve\n    from: serve\n    rules:\n";
  for (const auto& [path, text] : second.texts())
    plan += "      - {move: \"" + path + "\", to: \"right/" + path + "\"}\n";
  Case c(plan, {first.texts(), second.texts()});
  c.run();
  RC_ASSERT(!c.moves.collided);
  Texts left, right;
  for (const auto& [path, text] : c.after) {
    if (is_under(path, "left")) left[path.substr(5)] = text;
    if (is_under(path, "right")) right[path.substr(6)] = text;
  }
  RC_ASSERT(left == first.texts());
  RC_ASSERT(right == second.texts());
}

RC_GTEST_PROP(ReorgProperties, TheMapIsReadAsItWasWritten, (std::vector<std::string> names)) {
  MoveMap map;
  map.plan = "a plan";
  for (std::string name : names) {
    name.erase(std::remove(name.begin(), name.end(), '\0'), name.end());
    if (name.empty()) continue;
    const bool drop = name.size() % 3 == 0;
    map.lines.push_back({"", name, drop ? std::nullopt : std::optional("to/" + name)});
  }
  std::sort(map.lines.begin(), map.lines.end(),
            [](const MapLine& a, const MapLine& b) { return a.from < b.from; });
  map.lines.erase(std::unique(map.lines.begin(), map.lines.end(),
                              [](const auto& a, const auto& b) { return a.from == b.from; }),
                  map.lines.end());
  const auto read = read_map(write_map(map), "map");
  RC_ASSERT(read.ok());
  RC_ASSERT(read->lines == map.lines);
}

RC_GTEST_PROP(ReorgProperties, FewRulesSayWhatTheLinesSay, ()) {
  Drawn d = draw();
  Case c(plan_text(d.moves), {d.tree.texts()});
  c.run();
  const Side& side = c.moves.layout.sides[0];
  std::vector<MapLine> lines;
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < side.images.size(); ++i) {
    const std::string& path = side.tree.files()[i].path;
    if (side.moved(i)) {
      lines.push_back({"", path, side.images[i]});
    } else {
      kept.push_back(path);
    }
  }
  const auto rules = shortest_rules(lines, kept);
  for (const MapLine& line : lines) RC_ASSERT(map_path(rules, line.from) == line.to);
  for (const std::string& path : kept) RC_ASSERT(map_path(rules, path) == std::optional(path));
}

}  // namespace
}  // namespace muster::reorg::testing
