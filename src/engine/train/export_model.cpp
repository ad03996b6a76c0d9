#include "engine/train/export_model.h"

#include "engine/model/safetensors.h"

namespace muster::train {

Result<void> export_model(const Checkpoint& checkpoint, const std::string& tokenizer,
                          const std::filesystem::path& folder) {
  if (auto made = make_directory(folder); !made) return made;
  const auto& tensors = checkpoint.manifest().tensors;
  std::vector<std::vector<float>> values(tensors.size());
  std::vector<model::NamedTensor> named;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t elements = tensors[i].elements();
    values[i].resize(static_cast<std::size_t>(elements));
    checkpoint.read(i, /*state=*/0, 0, elements, values[i].data());
    named.push_back(
        {tensors[i].name, {"F32", tensors[i].shape, std::as_bytes(std::span(values[i]))}});
  }
  const std::filesystem::path weights = folder / "model.safetensors";
  if (auto written = model::write_safetensors(weights, std::move(named)); !written) {
    return Failure(error_at({weights.string()}, kWriteRule, to_text(written.findings())));
  }
  if (!tokenizer.empty()) {
    auto file = MappedFile::open(tokenizer);
    if (!file) return file.error();
    if (auto written = write_file(folder / "tokenizer.json", file->text()); !written)
      return written;
  }
  return write_file(folder / "config.json", checkpoint.manifest().model_config + "\n");
}

}  // namespace muster::train
