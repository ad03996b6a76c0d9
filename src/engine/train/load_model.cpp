#include "engine/train/load_model.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <utility>

#include "base/file_system.h"
#include "engine/model/weights.h"
#include "engine/train/checkpoint.h"

namespace muster::train {
namespace {

namespace fs = std::filesystem;

Failure fault(const std::string& file, std::string message, std::string hint = {}) {
  return Failure(error_at({file}, "model", std::move(message), std::move(hint)));
}

Result<std::unique_ptr<model::Llama>> from_checkpoint(const fs::path& folder,
                                                      const model::Kernels& kernels) {
  auto checkpoint = Checkpoint::open(folder);
  if (!checkpoint) return checkpoint.error();
  if (auto verified = checkpoint->verify(); !verified) return verified.error();
  const std::string manifest = (folder / "manifest.json").string();
  auto config = model::parse_config(checkpoint->manifest().model_config, manifest);
  if (!config) return config.error();
  auto model = std::make_unique<model::Llama>(*config, kernels);
  const torch::NoGradGuard no_grad;
  for (auto& item : model->named_parameters()) {
    const auto index = checkpoint->find(item.key());
    torch::Tensor& value = item.value();
    if (!index || checkpoint->manifest().tensors[*index].shape != value.sizes().vec())
      return fault(manifest,
                   fmt::format("the checkpoint has no '{}' of the model's shape", item.key()));
    checkpoint->read(*index, /*state=*/0, 0, value.numel(), value.data_ptr<float>());
  }
  return model;
}

}  // namespace

Result<std::unique_ptr<model::Llama>> load_model(const std::string& folder,
                                                 const model::Kernels& kernels) {
  const FileSystem& disk = real_file_system();
  const auto info = disk.info(folder);
  if (!info) {
    return fault(folder, "no such folder",
                 model::known_model(folder)
                     ? "a size alone has no weights: name a folder with config.json and "
                       "safetensors, or a checkpoint"
                     : "a folder with config.json and safetensors, or a checkpoint");
  }
  if (disk.exists(fs::path(folder) / "manifest.json")) return from_checkpoint(folder, kernels);
  auto config = model::read_config(folder);
  if (!config) return config.error();
  auto files = model::WeightFiles::open(folder);
  if (!files) return files.error();
  auto model = std::make_unique<model::Llama>(*config, kernels);
  if (auto loaded = model::load_weights(*model, *files); !loaded) return loaded.error();
  return model;
}

fs::path tokenizer_path(const std::string& model, const std::string& given) {
  if (given.empty()) return fs::path(model) / "tokenizer.json";
  return given;
}

}  // namespace muster::train
