// Loads a model for use: a Hugging Face folder, or a checkpoint of `train`.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "engine/model/llama.h"

namespace muster::train {

/// FOLDER with config.json and safetensors, or a checkpoint directory (manifest.json; its
/// parameters, not the optimizer's state). Errors are located; naming a size ("tiny") is one, as it
/// has no weights.
Result<std::unique_ptr<model::Llama>> load_model(const std::string& folder,
                                                 const model::Kernels& kernels);

/// The tokenizer of a model: the given path, or FOLDER/tokenizer.json.
std::filesystem::path tokenizer_path(const std::string& model, const std::string& given);

}  // namespace muster::train
