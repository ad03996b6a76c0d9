#include "engine/train/score_command.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "base/file_system.h"
#include "base/output.h"
#include "engine/model/score.h"
#include "engine/train/load_model.h"
#include "engine/train/score_input.h"

namespace muster::train {
namespace {

using Json = nlohmann::ordered_json;

// Models are made for up to 131,072 positions, but attention's memory grows with the square of it.
constexpr std::int64_t kDefaultWindow = 2048;

struct ScoreOptions {
  std::string model;
  std::string text;
  std::string ids;
  std::string tokenizer;
  std::string kernels = "reference";
  std::string output = "table";
  std::int64_t window = 0;
  int threads = 0;
  bool gradients = false;
};

int fail(const Findings& findings) {
  for (const Finding& finding : findings) std::cerr << to_string(finding) << '\n';
  return kExitBadInput;
}

/// A float's shortest digits, as a number; null when it is not finite.
Json number(float value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json numbers(const std::vector<float>& values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(number(value));
  return list;
}

Output describe(const ScoreOptions& options, const model::Llama& model, const model::Score& score) {
  Output output;
  output.name = "score";
  output.data["model"] = options.model;
  output.data["parameters"] = model.config().parameter_count();
  output.data["predicted_tokens"] = score.predicted;
  output.data["mean_cross_entropy"] = number(score.mean_cross_entropy);
  output.data["perplexity"] = number(std::exp(score.mean_cross_entropy));
  Json sequences = Json::array();
  for (const auto& sequence : score.sequences) {
    sequences.push_back({{"index", sequences.size()},
                         {"tokens", sequence.ids.size()},
                         {"ids", sequence.ids},
                         {"logprobs", numbers(sequence.logprobs)},
                         {"mean_cross_entropy", number(sequence.mean_cross_entropy)},
                         {"perplexity", number(std::exp(sequence.mean_cross_entropy))},
                         {"last_logits", numbers(sequence.last_logits)}});
  }
  output.data["sequences"] = std::move(sequences);
  if (options.gradients) {
    Json norms = Json::object();
    for (const auto& [name, norm] : score.gradient_norms) norms[name] = number(norm);
    output.data["gradient_norms"] = std::move(norms);
  }
  output.rows = "sequences";
  output.columns = {{"SEQUENCE", "index", false, true},
                    {"TOKENS", "tokens", false, true},
                    {"CROSS-ENTROPY", "mean_cross_entropy", false, true},
                    {"PERPLEXITY", "perplexity", false, true}};
  return output;
}

Result<Sequences> read_sequences(const ScoreOptions& options, const model::LlamaConfig& config) {
  const FileSystem& disk = real_file_system();
  const std::string& file = options.ids.empty() ? options.text : options.ids;
  auto content = disk.read(file);
  if (!content) return content.error();
  if (!options.ids.empty()) return parse_sequences(*content, file, config.vocab_size);
  auto tokenizer = text::Tokenizer::read(tokenizer_path(options.model, options.tokenizer));
  if (!tokenizer) return tokenizer.error();
  const auto window =
      options.window > 0 ? options.window : std::min(config.max_positions, kDefaultWindow);
  return windows_of(*content, file, *tokenizer, window, config.vocab_size);
}

int run_score(const ScoreOptions& options) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  auto loaded = load_model(options.model, options.kernels == "fused" ? model::fused_kernels()
                                                                     : model::reference_kernels());
  if (!loaded) return fail(loaded.findings());
  model::Llama& model = **loaded;
  auto sequences = read_sequences(options, model.config());
  if (!sequences) return fail(sequences.findings());
  for (const auto& ids : *sequences)
    if (static_cast<std::int64_t>(ids.size()) > model.config().max_positions)
      std::cerr << to_string(warning_at(
                       {options.ids.empty() ? options.text : options.ids}, "score-length",
                       fmt::format("a sequence has {} tokens; the model is made for at most {}",
                                   ids.size(), model.config().max_positions)))
                << '\n';
  const auto score = model::score(model, *sequences, options.gradients);
  const auto format = parse_format(options.output).value_or(Format::kTable);
  if (auto written =
          write_output(std::cout, describe(options, model, score), format, /*color=*/false);
      !written) {
    fail(written.findings());
    return kExitInternal;
  }
  if (format == Format::kTable || format == Format::kWide)
    std::cout << fmt::format(
        "mean cross-entropy {:.6g}, perplexity {:.6g}, over {} predicted tokens\n",
        score.mean_cross_entropy, std::exp(score.mean_cross_entropy), score.predicted);
  if (!score.finite()) {
    std::cerr << to_string(error_at({options.model}, "score-nonfinite",
                                    "the model gives figures that are not finite numbers"))
              << '\n';
    return kExitFailed;
  }
  return kExitOk;
}

}  // namespace

void add_score(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* sub = app.add_subcommand(
      "score", "Log-probabilities, cross-entropy and gradients of a model on given text");
  sub->add_option("MODEL", options->model,
                  "Folder with config.json and safetensors, or a checkpoint of train")
      ->required();
  auto* input = sub->add_option_group("input");
  input->add_option("--text", options->text, "UTF-8 text, cut into windows");
  input->add_option("--ids", options->ids,
                    R"(JSON of token ids: {"sequences": [[1, 2, ...], ...]})");
  input->require_option(1);
  sub->add_option("--tokenizer", options->tokenizer,
                  "tokenizer.json for --text (default: the model's)");
  sub->add_option("--window", options->window,
                  "Tokens of a window of --text (default: 2048, or what the model is made for)")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--grad", options->gradients,
                "Also the gradient norm of the mean cross-entropy, by parameter");
  sub->add_option("--kernels", options->kernels, "Operations to use")
      ->check(CLI::IsMember({"reference", "fused"}))
      ->capture_default_str();
  sub->add_option("--threads", options->threads, "Threads (default: all cores)")
      ->check(CLI::PositiveNumber);
  sub->add_option("-o,--output", options->output, "Output format")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "csv"}))
      ->capture_default_str();
  sub->callback([options, &exit_code] { exit_code = run_score(*options); });
}

}  // namespace muster::train
