// The arithmetic of worlds and batches, against its definition.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fixture.h"

namespace muster::catalog {
namespace {

std::string number(int value) {
  return std::to_string(value);
}

bool has_rule(const Result<ResolvedCase>& resolved, const std::string& rule) {
  for (const Finding& finding : resolved.findings()) {
    if (finding.rule == rule) return true;
  }
  return false;
}

RC_GTEST_PROP(Arithmetic, WorldAndBatchAreWhatTheirDefinitionsSay, ()) {
  const int nodes = *rc::gen::inRange(1, 9), per_node = *rc::gen::inRange(1, 9);
  const int micro = *rc::gen::inRange(1, 9), global = *rc::gen::inRange(1, 200);
  const int world = nodes * per_node;
  const auto resolved = settle(kManifest, "",
                               {{"topology.nodes", number(nodes)},
                                {"topology.accelerators_per_node", number(per_node)},
                                {"batch.micro", number(micro)},
                                {"batch.global", number(global)}});
  const bool divides = global % (micro * world) == 0;
  RC_ASSERT(resolved.ok() == divides);
  if (!divides) {
    RC_ASSERT(has_rule(resolved, "case-batch"));
    return;
  }
  RC_ASSERT(resolved->values.topology.world() == world);
  RC_ASSERT(resolved->values.batch.grad_accum * micro * world == global);
  RC_ASSERT(resolved->values.global_batch() == global);
}

RC_GTEST_PROP(Arithmetic, DegreesMultiplyToTheWorld, ()) {
  const int nodes = *rc::gen::inRange(1, 5);
  const int tp = *rc::gen::element(1, 2, 4, 8), pp = *rc::gen::element(1, 2, 3, 4),
            cp = *rc::gen::element(1, 2, 4);
  const int dp = *rc::gen::inRange(0, 9);  // 0: auto
  const int world = nodes * 8;
  std::vector<Override> options = {
      {"launcher", "torchrun"},
      {"case", "{framework: pytorch, library: fsdp, model: other}"},
      {"topology", "{nodes: " + number(nodes) + ", accelerators_per_node: 8, accelerator: gpu}"},
      {"parallelism.tp", number(tp)},
      {"parallelism.pp", number(pp)},
      {"parallelism.cp", number(cp)}};
  if (dp > 0) options.push_back({"parallelism.dp", number(dp)});
  const auto resolved = settle(kManifest, "", options);
  const bool fits = dp > 0 ? tp * pp * cp * dp == world : world % (tp * pp * cp) == 0;
  RC_ASSERT(has_rule(resolved, "case-world") == !fits);
  if (fits) {
    RC_ASSERT(resolved.ok());
    RC_ASSERT(resolved->values.data_parallel() * tp * pp * cp == world);
  }
}

// Options in any order of different keys settle to the same case.
RC_GTEST_PROP(Resolve, OrderOfOptionsDoesNotMatter, ()) {
  std::vector<Override> options = {
      {"batch.steps", "31"}, {"batch.seq_len", "64"},  {"seed", "7"},
      {"precision", "bf16"}, {"optimizer.lr", "0.01"}, {"eval.every", "5"}};
  const auto expected = settle(kManifest, "smoke", options);
  RC_ASSERT(expected.ok());
  std::vector<std::size_t> order(options.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
  std::vector<Override> shuffled;
  for (const std::size_t i : order) shuffled.push_back(options[i]);
  const auto resolved = settle(kManifest, "smoke", shuffled);
  RC_ASSERT(resolved.ok());
  RC_ASSERT(to_yaml(*resolved) == to_yaml(*expected));
  RC_ASSERT(resolved->origins == expected->origins);
}

// Every leaf of the settled manifest has an origin, and nothing else has one.
RC_GTEST_PROP(Resolve, EveryLeafHasAnOrigin, ()) {
  const std::string profile = *rc::gen::element<std::string>("", "smoke", "bench");
  const auto resolved = settle(
      kManifest, profile, {{"env.set", "{A: b}"}, {"storage.mounts", "[{name: a, path: /a}]"}});
  RC_ASSERT(resolved.ok());
  for (const auto& [key, origin] : resolved->origins) {
    const Node* leaf = node_at(resolved->manifest, key);
    RC_ASSERT(leaf != nullptr);
    RC_ASSERT(!leaf->is_mapping());
    RC_ASSERT((origin.kind == Origin::Kind::kDefault) == origin.where.file.empty());
  }
}

}  // namespace
}  // namespace muster::catalog
