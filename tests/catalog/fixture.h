// A valid case to break, and the facts it is checked against.
#pragma once

#include <string>

#include "catalog/case.h"
#include "facts/facts.h"
#include "testing.h"

namespace muster::catalog {

inline const std::string kManifest = R"(apiVersion: muster/v1
kind: Case
name: training/native/llama/tiny
default: true
description: A case
case: {framework: native, library: llama, model: tiny, kind: train}
topology: {nodes: 1, accelerators_per_node: 2, accelerator: cpu}
parallelism: {shard: full}
batch: {micro: 4, seq_len: 128, steps: 100}
optimizer: {lr: 0.003, min_lr: 0.0003, warmup: 10}
data: {name: kjv, tokenizer: "bpe:2048"}
expect: {loss: {trend: down}, timeout: 10m}
profiles:
  smoke: {batch: {steps: 20}}
  bench: {batch: {micro: 2}, expect: {loss: null}}
)";

inline const facts::Facts& known_facts() {
  static const facts::Facts kFacts = [] {
    auto facts = facts::load_facts(real_file_system(), testing::source_dir());
    return facts ? *facts : facts::Facts();
  }();
  return kFacts;
}

inline Node parsed(const std::string& text, const std::string& file = "case.yaml") {
  auto node = parse_yaml(text, file);
  return node ? *node : Node::null({});
}

/// The manifest with one text replaced by another.
inline std::string edited(const std::string& from, const std::string& to) {
  std::string text = kManifest;
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("the fixture has no: " + from);
  return text.replace(at, from.size(), to);
}

inline Result<ResolvedCase> settle(const std::string& text, const std::string& profile = {},
                                   const std::vector<Override>& overrides = {}) {
  return resolve(parsed(text), "training/native/llama/tiny", profile, overrides, known_facts());
}

}  // namespace muster::catalog
