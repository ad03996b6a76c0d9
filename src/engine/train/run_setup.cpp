#include "engine/train/run_setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/weights.h"
#include "engine/train/agreement.h"

namespace muster::train {

namespace fs = std::filesystem;

Result<ModelSource> find_model(const std::string& name_or_folder) {
  if (auto known = model::known_model(name_or_folder)) return ModelSource{*known, {}};
  std::error_code error;
  const fs::path folder = name_or_folder;
  if (!fs::is_directory(folder, error)) {
    return failure("option",
                   fmt::format("--model {}: neither a known model nor a folder", name_or_folder),
                   fmt::format("one of {}, or a folder with config.json",
                               fmt::join(model::known_models(), ", ")));
  }
  auto config = model::read_config(folder);
  if (!config) return config.error();
  const bool weights = fs::exists(folder / "model.safetensors", error) ||
                       fs::exists(folder / "model.safetensors.index.json", error);
  return ModelSource{*config, weights ? folder : fs::path()};
}

std::string tokenizer_for(const Settings& settings, const model::LlamaConfig& config) {
  if (!settings.tokenizer.empty()) return settings.tokenizer;
  constexpr std::int64_t kMost = 8192;
  return fmt::format("bpe:{}", std::min(config.vocab_size, kMost));
}

Result<Corpus> open_data(comm::Communicator& comm, const Settings& settings,
                         const model::LlamaConfig& config) {
  const DataRequest request{settings.data, tokenizer_for(settings, config), settings.out / "data"};
  Result<fs::path> prepared = failure("data", "not prepared");
  const auto attempt = [&] { prepared = prepare(request); };
  work_together(comm, [&] {
    if (comm.rank() == 0) attempt();
  });
  if (from_first(comm, prepared.ok() ? 0 : 1) != 0) {
    if (comm.rank() == 0) return prepared.error();
    return failure("data", "rank 0 could not prepare the data");
  }
  work_together(comm, [&] {
    if (comm.rank() != 0) attempt();
  });
  if (!prepared) return prepared.error();
  return open_corpus(*prepared);
}

Findings check_corpus(const Corpus& corpus, const model::LlamaConfig& config,
                      const Settings& settings) {
  Findings findings;
  const std::string place = settings.data.string();
  if (corpus.train.vocabulary() > static_cast<std::uint64_t>(config.vocab_size)) {
    findings.push_back(
        error_at({place}, "data",
                 fmt::format("the data has a vocabulary of {} tokens, the model {} only {}",
                             corpus.train.vocabulary(), settings.model, config.vocab_size),
                 fmt::format("a tokenizer of at most {} ids, such as --tokenizer bpe:{}",
                             config.vocab_size, config.vocab_size)));
  }
  if (corpus.train.windows(settings.seq_len) == 0) {
    findings.push_back(error_at(
        {place}, "data",
        fmt::format(
            "{} tokens of training text are too few for one sequence of {} and its next token",
            corpus.train.tokens(), settings.seq_len),
        "more text, or a smaller --seq-len"));
  }
  if (settings.seq_len > config.max_positions) {
    findings.push_back(
        error_at({}, "option",
                 fmt::format("--seq-len {}: the model {} has {} positions", settings.seq_len,
                             settings.model, config.max_positions)));
  }
  return findings;
}

Findings check_model(const Manifest& manifest, const model::LlamaConfig& config,
                     const std::string& checkpoint) {
  auto saved = model::parse_config(manifest.model_config, checkpoint);
  if (!saved) return saved.findings();
  if (*saved == config) return {};
  Findings findings;
  const auto compare = [&](const char* what, std::int64_t then, std::int64_t now) {
    if (then != now)
      findings.push_back(
          error_at({checkpoint}, "checkpoint-model",
                   fmt::format("the checkpoint is of a model with {} {}, this run's has {}", what,
                               then, now),
                   "pass the same --model"));
  };
  compare("vocab_size", saved->vocab_size, config.vocab_size);
  compare("hidden_size", saved->hidden_size, config.hidden_size);
  compare("intermediate_size", saved->intermediate_size, config.intermediate_size);
  compare("num_hidden_layers", saved->layers, config.layers);
  compare("num_attention_heads", saved->heads, config.heads);
  compare("num_key_value_heads", saved->kv_heads, config.kv_heads);
  compare("head_dim", saved->head_dim, config.head_dim);
  if (findings.empty())
    findings.push_back(error_at({checkpoint}, "checkpoint-model",
                                "the checkpoint is of a model with another configuration",
                                "pass the same --model"));
  return findings;
}

DataState data_state(const Corpus& corpus, const Settings& settings, int world) {
  return {corpus.hash,
          settings.seed,
          settings.seq_len,
          settings.global_batch,
          settings.micro_batch,
          world,
          corpus.train.windows(settings.seq_len)};
}

OptimizerFigures optimizer_figures(const Settings& settings) {
  return {settings.lr,    settings.min_lr, settings.weight_decay, settings.beta1,
          settings.beta2, settings.clip,   settings.warmup,       settings.steps};
}

}  // namespace muster::train
