#include "facts/models.h"

#include <gtest/gtest.h>

#include "testing.h"

namespace muster::facts {
namespace {

TEST(Models, CommittedCountsFollowFromTheSizes) {
  const auto models = load_models(real_file_system(), testing::source_dir());
  ASSERT_TRUE(models.ok()) << to_string(models.findings()[0]);
  for (const Model& model : *models)
    EXPECT_EQ(model.parameters, model.count_parameters()) << model.name;
}

// Published totals: SmolLM2-135M and the Llama 3 family.
TEST(Models, PublishedParameterCounts) {
  const auto models = load_models(real_file_system(), testing::source_dir());
  ASSERT_TRUE(models.ok());
  const std::pair<const char*, std::int64_t> published[] = {{"smollm2-135m", 134515008},
                                                            {"llama3.2-1b", 1235814400},
                                                            {"llama3.2-3b", 3212749824},
                                                            {"llama3.1-8b", 8030261248},
                                                            {"llama3.1-70b", 70553706496}};
  for (const auto& [name, parameters] : published) {
    const Model* model = find_model(*models, name);
    ASSERT_NE(model, nullptr) << name;
    EXPECT_EQ(model->parameters, parameters) << name;
  }
}

TEST(Models, AWrongCountIsLocated) {
  const auto text = real_file_system().read(testing::source_dir() / "facts" / "models.yaml");
  ASSERT_TRUE(text.ok());
  std::string wrong = *text;
  wrong.replace(wrong.find("134515008"), 9, "134515009");
  const auto models = parse_models(wrong, "facts/models.yaml");
  ASSERT_FALSE(models.ok());
  EXPECT_EQ(models.findings()[0].rule, "facts-parameters");
  EXPECT_GT(models.findings()[0].where.line, 1);
}

TEST(Models, UnknownModelIsExplained) {
  const auto models = load_models(real_file_system(), testing::source_dir());
  ASSERT_TRUE(models.ok());
  const auto model = require_model(*models, "smollm-135m");
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.findings()[0].hint, "did you mean \"smollm2-135m\"?");
}

}  // namespace
}  // namespace muster::facts
