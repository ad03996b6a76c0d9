// Properties of the schema and of the YAML writer, over made-up documents.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/schema.h"
#include "catalog/case_schema.h"
#include "fixture.h"

namespace muster::catalog {
namespace {

rc::Gen<std::string> word() {
  return rc::gen::container<std::string>(rc::gen::element('a', 'B', '1', '-', '_', '.', ' ', ':',
                                                          '#', '"', '\'', '\\', '\n', '\t', '{',
                                                          '[', '~', '*', '&', '!', '%', '@'));
}

rc::Gen<Node> scalar() {
  return rc::gen::oneOf(
      rc::gen::map(word(),
                   [](std::string text) { return Node::scalar(std::move(text), true, {}); }),
      rc::gen::map(rc::gen::arbitrary<int>(),
                   [](int value) { return Node::scalar(std::to_string(value), false, {}); }),
      rc::gen::map(rc::gen::arbitrary<bool>(),
                   [](bool value) { return Node::scalar(value ? "true" : "false", false, {}); }),
      rc::gen::map(rc::gen::element<std::string>("null", "yes", "1.10", "0x1f", ".5", "1e3", "~",
                                                 "", "- a", "---"),
                   [](std::string text) { return Node::scalar(std::move(text), true, {}); }));
}

rc::Gen<Node> tree(int depth) {
  if (depth == 0) return scalar();
  const auto inner = [depth] { return tree(depth - 1); };
  const auto list = rc::gen::map(
      rc::gen::mapcat(rc::gen::inRange(0, 4),
                      [=](int n) { return rc::gen::container<std::vector<Node>>(n, inner()); }),
      [](std::vector<Node> items) { return Node::sequence(std::move(items), {}); });
  const auto mapping = rc::gen::map(
      rc::gen::mapcat(rc::gen::inRange(0, 4),
                      [=](int n) { return rc::gen::container<std::vector<Node>>(n, inner()); }),
      [](std::vector<Node> values) {
        std::vector<Node::Entry> entries;
        const Position nowhere;
        for (std::size_t i = 0; i < values.size(); ++i)
          entries.push_back({"key " + std::to_string(i), nowhere, values[i]});
        return Node::mapping(std::move(entries), nowhere);
      });
  return rc::gen::oneOf(scalar(), list, mapping);
}

// Same shape, same values, same types.
bool same(const Node& a, const Node& b) {
  if (a.kind() != b.kind() || a.items().size() != b.items().size() ||
      a.entries().size() != b.entries().size())
    return false;
  if (a.is_scalar())
    return a.text() == b.text() && a.as_bool() == b.as_bool() && a.as_int() == b.as_int();
  for (std::size_t i = 0; i < a.items().size(); ++i) {
    if (!same(a.items()[i], b.items()[i])) return false;
  }
  for (std::size_t i = 0; i < a.entries().size(); ++i) {
    if (a.entries()[i].key != b.entries()[i].key ||
        !same(a.entries()[i].value, b.entries()[i].value))
      return false;
  }
  return true;
}

RC_GTEST_PROP(YamlWriter, WhatIsWrittenReadsBackTheSame, ()) {
  const Node node = *tree(3);
  const auto again = parse_yaml(to_yaml(node), "f");
  RC_ASSERT(again.ok());
  RC_ASSERT(same(node, *again));
}

// One wrong letter in any key of the manifest is an unknown key at that line, never silence.
RC_GTEST_PROP(CaseSchema, AnyMisspelledKeyIsFound, ()) {
  static const Node kNode = parsed(kManifest);
  std::vector<std::string> paths;
  const std::function<void(const Node&, const std::string&)> walk = [&](const Node& node,
                                                                        const std::string& path) {
    for (const Node::Entry& entry : node.entries()) {
      if (path.empty() && (entry.key == "apiVersion" || entry.key == "kind")) continue;
      if (path != "profiles") paths.push_back(path.empty() ? entry.key : path + "." + entry.key);
      walk(entry.value, path.empty() ? entry.key : path + "." + entry.key);
    }
  };
  walk(kNode, "");
  const std::string target = *rc::gen::elementOf(paths);
  std::function<Node(const Node&, const std::string&)> misspell = [&](const Node& node,
                                                                      const std::string& path) {
    if (!node.is_mapping()) return node;
    std::vector<Node::Entry> entries;
    for (const Node::Entry& entry : node.entries()) {
      const std::string here = path.empty() ? entry.key : path + "." + entry.key;
      entries.push_back(
          {here == target ? entry.key + "x" : entry.key, entry.where, misspell(entry.value, here)});
    }
    return Node::mapping(std::move(entries), node.where());
  };
  const Findings findings = case_schema().check(misspell(kNode, ""), "manifest");
  RC_ASSERT(!findings.empty());
  RC_ASSERT(findings[0].rule == "manifest-unknown-key");
  RC_ASSERT(findings[0].where.line > 0);
}

RC_GTEST_PROP(CaseSchema, DefaultsAreAFixedPoint, ()) {
  const int steps = *rc::gen::inRange(1, 16777216);
  const Node node = parsed(edited("steps: 100", "steps: " + std::to_string(steps)));
  const Node once = case_schema().with_defaults(node);
  RC_ASSERT(same(once, case_schema().with_defaults(once)));
  RC_ASSERT(case_schema().check(once, "manifest").empty());
}

// The checker reads any document without a crash, and is silent only about manifests.
RC_GTEST_PROP(CaseSchema, AnyTreeIsJudged, ()) {
  const Node node = *tree(3);
  RC_ASSERT(!case_schema().check(node, "manifest").empty());
}

}  // namespace
}  // namespace muster::catalog
