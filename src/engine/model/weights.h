// Between a model on libtorch and a folder of Hugging Face files.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "engine/model/config.h"
#include "engine/model/llama.h"
#include "engine/model/safetensors.h"

namespace muster::model {

/// FOLDER/config.json.
Result<LlamaConfig> read_config(const std::filesystem::path& folder);

/// Copies the weights into the model, converting F32, BF16, F16 (and F64) to the parameters' dtype.
/// Errors, all of them: a parameter that no file has, one of another shape or of a dtype that is
/// not floating point, a tensor that the model has no place for (other than a tied head's copy and
/// the rotary tables of old checkpoints). The model is changed only when nothing is wrong.
Result<void> load_weights(Llama& model, const WeightFiles& files);
Result<void> load_weights(Llama& model, const std::filesystem::path& folder);

/// Writes FOLDER/model.safetensors and FOLDER/config.json (last), each whole or not at all. `dtype`
/// is float32, bfloat16 or float16.
Result<void> save_weights(const Llama& model, const std::filesystem::path& folder,
                          torch::ScalarType dtype = torch::kFloat32);

}  // namespace muster::model
