#include "engine/model/weights.h"

#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "base/file_system.h"

namespace muster::model {
namespace {

std::optional<torch::ScalarType> torch_dtype(std::string_view name) {
  if (name == "F32") return torch::kFloat32;
  if (name == "BF16") return torch::kBFloat16;
  if (name == "F16") return torch::kFloat16;
  if (name == "F64") return torch::kFloat64;
  return std::nullopt;
}

std::string shown(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Finding fault(const std::string& file, std::string message, std::string hint = {}) {
  return error_at({file}, "model-weights", std::move(message), std::move(hint));
}

bool may_be_extra(const std::string& name, bool tied) {
  return (tied && name == "lm_head.weight") || name.ends_with(".rotary_emb.inv_freq");
}

}  // namespace

Result<LlamaConfig> read_config(const std::filesystem::path& folder) {
  const auto path = folder / "config.json";
  auto text = real_file_system().read(path);
  if (!text) return text.error();
  return parse_config(*text, path.string());
}

Result<void> load_weights(Llama& model, const WeightFiles& files) {
  Findings findings;
  std::set<std::string> wanted;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> copies;
  for (const auto& item : model.named_parameters()) {
    wanted.insert(item.key());
    const auto place = files.find(item.key());
    if (!place) {
      findings.push_back(fault(files.name(), fmt::format("tensor '{}' is missing", item.key()),
                               "the weights belong to another model than config.json"));
      continue;
    }
    const auto dtype = torch_dtype(place->view.dtype);
    const auto shape = item.value().sizes().vec();
    if (!dtype || place->view.shape != shape) {
      findings.push_back(fault(place->file->name(),
                               fmt::format("tensor '{}' is {} {}", item.key(), place->view.dtype,
                                           shown(place->view.shape)),
                               fmt::format("the model needs a floating-point {}", shown(shape))));
      continue;
    }
    // from_blob wants a mutable pointer; the bytes are only read. They may be unaligned for the
    // dtype: copy as bytes first.
    auto* bytes = const_cast<std::byte*>(place->view.bytes.data());
    auto raw = torch::from_blob(bytes, {static_cast<std::int64_t>(place->view.bytes.size())},
                                torch::kUInt8);
    if (reinterpret_cast<std::uintptr_t>(bytes) % element_size(place->view.dtype) != 0)
      raw = raw.clone();
    copies.emplace_back(item.value(), raw.view(*dtype).view(shape));
  }
  for (const std::string& name : files.names()) {
    if (!wanted.contains(name) && !may_be_extra(name, model.config().tied_head))
      findings.push_back(fault(files.find(name)->file->name(),
                               fmt::format("tensor '{}' has no place in the model", name),
                               "the weights belong to another model than config.json"));
  }
  if (!findings.empty()) return Failure(std::move(findings));
  const torch::NoGradGuard no_grad;
  for (auto& [parameter, value] : copies) parameter.copy_(value);
  return {};
}

Result<void> load_weights(Llama& model, const std::filesystem::path& folder) {
  auto files = WeightFiles::open(folder);
  if (!files) return files.error();
  return load_weights(model, *files);
}

Result<void> save_weights(const Llama& model, const std::filesystem::path& folder,
                          torch::ScalarType dtype) {
  LlamaConfig config = model.config();
  const char* name = "F32";
  config.dtype = "float32";
  if (dtype == torch::kBFloat16) {
    name = "BF16";
    config.dtype = "bfloat16";
  } else if (dtype == torch::kFloat16) {
    name = "F16";
    config.dtype = "float16";
  } else if (dtype != torch::kFloat32) {
    throw std::invalid_argument("weights are saved as float32, bfloat16 or float16");
  }
  std::vector<torch::Tensor> kept;  // what the views point into
  std::vector<NamedTensor> tensors;
  for (const auto& item : model.named_parameters()) {
    const auto value = item.value().detach().to(torch::kCPU, dtype).contiguous();
    kept.push_back(value);
    tensors.push_back({item.key(),
                       {name,
                        value.sizes().vec(),
                        {static_cast<const std::byte*>(value.data_ptr()),
                         static_cast<std::size_t>(value.nbytes())}}});
  }
  FileSystem& disk = real_file_system();
  if (auto made = disk.make_directories(folder); !made) return made;
  if (auto written = write_safetensors(folder / "model.safetensors", std::move(tensors)); !written)
    return written;
  return disk.write(folder / "config.json", write_config(config));
}

}  // namespace muster::model
