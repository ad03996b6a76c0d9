#include "engine/model/weights.h"

#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include <fstream>

namespace muster::model {
namespace {

namespace fs = std::filesystem;

class Weights : public testing::Test {
 protected:
  Weights() {
    std::string pattern = (fs::temp_directory_path() / "muster-weights-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    config_ = *known_model("tiny");
    config_.vocab_size = 20;
    config_.layers = 1;
  }
  ~Weights() override { fs::remove_all(folder_); }

  LlamaConfig config_;
  fs::path folder_;
};

TEST_F(Weights, SurviveTheirFiles) {
  Llama model(config_);
  initialise(model, 3);
  for (const auto dtype : {torch::kFloat32, torch::kBFloat16, torch::kFloat16}) {
    ASSERT_TRUE(save_weights(model, folder_ / "m", dtype).ok());
    const auto config = read_config(folder_ / "m");
    ASSERT_TRUE(config.ok());
    EXPECT_EQ(config->hidden_size, config_.hidden_size);
    Llama again(*config);
    ASSERT_TRUE(load_weights(again, folder_ / "m").ok());
    const auto values = again.named_parameters();
    for (const auto& item : model.named_parameters())
      EXPECT_TRUE(torch::equal(values[item.key()], item.value().to(dtype).to(torch::kFloat32)))
          << item.key();
  }
}

TEST_F(Weights, ReportEverythingThatDoesNotFitAndChangeNothing) {
  Llama model(config_);
  initialise(model, 3);
  ASSERT_TRUE(save_weights(model, folder_).ok());
  auto other = config_;
  other.intermediate_size = 100;  // three matrices of the block
  other.tied_head = false;        // and one that is missing
  Llama wrong(other);
  initialise(wrong, 4);
  const auto before = wrong.named_parameters()["model.norm.weight"].clone();
  const auto loaded = load_weights(wrong, folder_);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.findings().size(), 4U);
  bool missing = false;
  for (const auto& finding : loaded.findings()) {
    EXPECT_NE(finding.where.file.str().find("model.safetensors"), std::string::npos);
    missing = missing || finding.message == "tensor 'lm_head.weight' is missing";
  }
  EXPECT_TRUE(missing);
  EXPECT_TRUE(torch::equal(before, wrong.named_parameters()["model.norm.weight"]));
}

TEST_F(Weights, AnUnknownTensorIsRefusedAndATiedHeadsCopyIsNot) {
  Llama model(config_);
  initialise(model, 3);
  std::vector<NamedTensor> tensors;
  for (const auto& item : model.named_parameters())
    tensors.push_back({item.key(),
                       {"F32",
                        item.value().sizes().vec(),
                        {static_cast<const std::byte*>(item.value().data_ptr()),
                         static_cast<std::size_t>(item.value().nbytes())}}});
  auto head = tensors.front();
  for (const auto& tensor : tensors)
    if (tensor.name == "model.embed_tokens.weight") head = tensor;
  head.name = "lm_head.weight";
  tensors.push_back(head);
  ASSERT_TRUE(write_safetensors(folder_ / "model.safetensors", tensors).ok());
  EXPECT_TRUE(load_weights(model, folder_).ok());
  tensors.back().name = "model.layers.9.mlp.down_proj.weight";
  ASSERT_TRUE(write_safetensors(folder_ / "model.safetensors", tensors).ok());
  const auto loaded = load_weights(model, folder_);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.findings().front().message.find("no place in the model"), std::string::npos);
}

TEST_F(Weights, EveryCutAndFlippedHeaderIsAnErrorOrLoads) {
  Llama model(config_);
  initialise(model, 3);
  ASSERT_TRUE(save_weights(model, folder_).ok());
  const auto path = folder_ / "model.safetensors";
  std::string good;
  {
    std::ifstream file(path, std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto put = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  };
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{200},
                                   good.size() / 2, good.size() - 1}) {
    put(good.substr(0, length));
    const auto loaded = load_weights(model, folder_);
    ASSERT_FALSE(loaded.ok()) << length;
    EXPECT_NE(loaded.findings().front().where.file.str().find("model.safetensors"),
              std::string::npos);
  }
  for (std::size_t at = 0; at < 600; at += 7) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    put(bytes);
    const auto loaded = load_weights(model, folder_);
    if (!loaded.ok()) {
      EXPECT_NE(loaded.findings().front().where.file.str().find("model.safetensors"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace muster::model
