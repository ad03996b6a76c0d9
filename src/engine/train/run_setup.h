// From the settings to what a run works with: the model's configuration and the data.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "engine/comm/communicator.h"
#include "engine/model/config.h"
#include "engine/train/checkpoint_manifest.h"
#include "engine/train/prepare.h"
#include "engine/train/settings.h"

namespace muster::train {

/// The model that --model asks for.
struct ModelSource {
  model::LlamaConfig config;
  std::filesystem::path weights;  ///< folder with safetensors to start from; empty: initialise
};

Result<ModelSource> find_model(const std::string& name_or_folder);

/// The tokenizer to use: as asked, or a BPE that fits the model.
std::string tokenizer_for(const Settings& settings, const model::LlamaConfig& config);

/// Prepares the data on rank 0 while the others wait, and opens it everywhere; a rank that does not
/// see what rank 0 made (no shared file system) makes its own, which is the same. Collective;
/// errors may differ between ranks.
Result<Corpus> open_data(comm::Communicator& comm, const Settings& settings,
                         const model::LlamaConfig& config);

/// What is wrong between data, model and settings.
Findings check_corpus(const Corpus& corpus, const model::LlamaConfig& config,
                      const Settings& settings);

/// Whether a checkpoint's model is this one; error findings say what differs.
Findings check_model(const Manifest& manifest, const model::LlamaConfig& config,
                     const std::string& checkpoint);

DataState data_state(const Corpus& corpus, const Settings& settings, int world);
OptimizerFigures optimizer_figures(const Settings& settings);

}  // namespace muster::train
