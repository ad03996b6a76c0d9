#include "engine/train/checkpoint_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace muster::train {

using nlohmann::json;

namespace {

constexpr const char* kFormat = "muster-checkpoint";
constexpr int kVersion = 1;

json to_json(const CheckpointTensor& tensor) {
  json slices = json::array();
  for (const Slice& slice : tensor.slices) {
    slices.push_back({{"file", slice.file},
                      {"begin", slice.begin},
                      {"end", slice.end},
                      {"offsets", {slice.offset[0], slice.offset[1], slice.offset[2]}}});
  }
  return {{"name", tensor.name}, {"shape", tensor.shape}, {"slices", std::move(slices)}};
}

CheckpointTensor tensor_from(const json& from) {
  CheckpointTensor tensor;
  from.at("name").get_to(tensor.name);
  from.at("shape").get_to(tensor.shape);
  for (const json& entry : from.at("slices")) {
    Slice slice;
    entry.at("file").get_to(slice.file);
    entry.at("begin").get_to(slice.begin);
    entry.at("end").get_to(slice.end);
    for (int state = 0; state < kStateCount; ++state)
      entry.at("offsets").at(static_cast<std::size_t>(state)).get_to(slice.offset[state]);
    tensor.slices.push_back(slice);
  }
  return tensor;
}

// What is wrong with a tensor's slices; empty when nothing is.
std::string fault_of(const CheckpointTensor& tensor, const std::vector<CheckpointFile>& files) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 64;
  std::int64_t elements = 1;
  for (const std::int64_t size : tensor.shape) {
    if (size < 0 || (size > 0 && elements > kMost / size)) return "has an impossible shape";
    elements *= size;
  }
  std::int64_t covered = 0;
  for (const Slice& slice : tensor.slices) {
    if (slice.begin != covered || slice.end < slice.begin || slice.end > elements) {
      return fmt::format("has a slice [{}, {}) where one from {} is due", slice.begin, slice.end,
                         covered);
    }
    if (slice.file < 0 || static_cast<std::size_t>(slice.file) >= files.size())
      return fmt::format("names file {} of {}", slice.file, files.size());
    const CheckpointFile& file = files[static_cast<std::size_t>(slice.file)];
    const auto bytes = static_cast<std::uint64_t>(slice.end - slice.begin) * sizeof(float);
    for (const std::uint64_t offset : slice.offset) {
      if (offset > file.bytes || bytes > file.bytes - offset)
        return fmt::format("has a slice beyond the end of {}", file.name);
    }
    covered = slice.end;
  }
  if (covered != elements) return fmt::format("has {} of its {} elements", covered, elements);
  return {};
}

}  // namespace

std::int64_t CheckpointTensor::elements() const {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

std::string write_manifest(const Manifest& manifest) {
  json files = json::array();
  for (const CheckpointFile& file : manifest.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh128", file.digest}});
  json tensors = json::array();
  for (const CheckpointTensor& tensor : manifest.tensors) tensors.push_back(to_json(tensor));
  const DataState& data = manifest.data;
  const OptimizerFigures& optimizer = manifest.optimizer;
  const json document = {
      {"format", kFormat},
      {"version", kVersion},
      {"step", manifest.step},
      {"parameter_hash", manifest.parameter_hash},
      {"model", json::parse(manifest.model_config)},
      {"tokenizer", manifest.tokenizer},
      {"precision", manifest.precision},
      {"strategy", manifest.strategy},
      {"data",
       {{"hash", data.hash},
        {"seed", data.seed},
        {"seq_len", data.seq_len},
        {"global_batch", data.global_batch},
        {"micro_batch", data.micro_batch},
        {"world", data.world},
        {"windows", data.windows}}},
      {"optimizer",
       {{"name", "adamw"},
        {"lr", optimizer.lr},
        {"min_lr", optimizer.min_lr},
        {"weight_decay", optimizer.weight_decay},
        {"beta1", optimizer.beta1},
        {"beta2", optimizer.beta2},
        {"clip", optimizer.clip},
        {"warmup", optimizer.warmup},
        {"steps", optimizer.steps}}},
      {"states", kStates},
      {"files", std::move(files)},
      {"tensors", std::move(tensors)},
  };
  return document.dump(1) + "\n";
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& file) {
  const auto fail = [&](const std::string& message) {
    return Failure(
        error_at({file}, "checkpoint-damaged", fmt::format("checkpoint manifest: {}", message)));
  };
  Manifest manifest;
  try {
    const json document = json::parse(text);
    if (document.at("format").get<std::string>() != kFormat)
      return fail("this is not the manifest of a checkpoint");
    const int version = document.at("version").get<int>();
    if (version != kVersion)
      return fail(
          fmt::format("version {} is not known; this program reads version {}", version, kVersion));
    document.at("step").get_to(manifest.step);
    document.at("parameter_hash").get_to(manifest.parameter_hash);
    manifest.model_config = document.at("model").dump();
    document.at("tokenizer").get_to(manifest.tokenizer);
    document.at("precision").get_to(manifest.precision);
    document.at("strategy").get_to(manifest.strategy);
    const json& data = document.at("data");
    data.at("hash").get_to(manifest.data.hash);
    data.at("seed").get_to(manifest.data.seed);
    data.at("seq_len").get_to(manifest.data.seq_len);
    data.at("global_batch").get_to(manifest.data.global_batch);
    data.at("micro_batch").get_to(manifest.data.micro_batch);
    data.at("world").get_to(manifest.data.world);
    data.at("windows").get_to(manifest.data.windows);
    const json& optimizer = document.at("optimizer");
    optimizer.at("lr").get_to(manifest.optimizer.lr);
    optimizer.at("min_lr").get_to(manifest.optimizer.min_lr);
    optimizer.at("weight_decay").get_to(manifest.optimizer.weight_decay);
    optimizer.at("beta1").get_to(manifest.optimizer.beta1);
    optimizer.at("beta2").get_to(manifest.optimizer.beta2);
    optimizer.at("clip").get_to(manifest.optimizer.clip);
    optimizer.at("warmup").get_to(manifest.optimizer.warmup);
    optimizer.at("steps").get_to(manifest.optimizer.steps);
    for (const json& entry : document.at("files")) {
      manifest.files.push_back({entry.at("name").get<std::string>(),
                                entry.at("bytes").get<std::uint64_t>(),
                                entry.at("xxh128").get<std::string>()});
    }
    for (const json& entry : document.at("tensors")) manifest.tensors.push_back(tensor_from(entry));
  } catch (const json::parse_error& error) {
    return fail(fmt::format("not JSON at byte {}", error.byte));
  } catch (const json::exception& error) {
    return fail(error.what());
  }
  for (const CheckpointFile& entry : manifest.files) {
    if (entry.name.empty() || entry.name.front() == '.' ||
        entry.name.find('/') != std::string::npos) {
      return fail(fmt::format("\"{}\" is not a plain file name", entry.name));
    }
  }
  for (const CheckpointTensor& tensor : manifest.tensors) {
    if (const std::string fault = fault_of(tensor, manifest.files); !fault.empty())
      return fail(fmt::format("{} {}", tensor.name, fault));
  }
  return manifest;
}

Findings check_data_state(const DataState& saved, const DataState& now,
                          const std::string& checkpoint) {
  Findings findings;
  const auto differs = [&](const std::string& message, const std::string& hint) {
    findings.push_back(error_at({checkpoint}, "checkpoint-data-state", message, hint));
  };
  if (saved.global_batch != now.global_batch) {
    differs(fmt::format("the checkpoint was made with a global batch of {} sequences ({} ranks of "
                        "micro-batch {}), this run has {} ({} ranks of micro-batch {}): "
                        "its next batch would not be the one that is due",
                        saved.global_batch, saved.world, saved.micro_batch, now.global_batch,
                        now.world, now.micro_batch),
            fmt::format("pass --global-batch {}, with any number of ranks and any --micro-batch "
                        "whose product divides it",
                        saved.global_batch));
  }
  if (saved.seq_len != now.seq_len) {
    differs(fmt::format("the checkpoint was made with sequences of {} tokens, this run has {}",
                        saved.seq_len, now.seq_len),
            fmt::format("pass --seq-len {}", saved.seq_len));
  }
  if (saved.seed != now.seed) {
    differs(fmt::format("the checkpoint was made with seed {}, this run has {}: the order of the "
                        "data would change",
                        saved.seed, now.seed),
            fmt::format("pass --seed {}", saved.seed));
  }
  if (saved.hash != now.hash) {
    differs("the checkpoint was made from other training data (or with another tokenizer)",
            "pass the same --data and --tokenizer, or begin anew with another --out");
  }
  return findings;
}

}  // namespace muster::train
