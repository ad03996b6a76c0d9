// The trained model as other programs read it.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "engine/train/checkpoint.h"

namespace muster::train {

/// Writes config.json, model.safetensors (float32) and, when `tokenizer` names one, tokenizer.json
/// into `folder`, from a verified checkpoint's parameters. Each file is whole or absent.
Result<void> export_model(const Checkpoint& checkpoint, const std::string& tokenizer,
                          const std::filesystem::path& folder);

}  // namespace muster::train
