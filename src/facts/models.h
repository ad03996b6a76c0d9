// Decoder sizes that cases name. The data is facts/models.yaml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

struct Model {
  std::string name;
  std::int64_t parameters = 0;  ///< every weight once; a tied head is the embedding matrix
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_size = 0, ffn = 0,
               vocabulary = 0;
  bool tied = false;
  std::int64_t context = 0;  ///< longest sequence
  double rope_theta = 0;
  std::optional<double> rope_factor;
  std::string source, date;
  Position where;

  /// What `parameters` must be for these sizes.
  std::int64_t count_parameters() const;
};

Result<std::vector<Model>> load_models(const FileSystem& files, const std::filesystem::path& root);
Result<std::vector<Model>> parse_models(const std::string& text, const std::string& file);

/// By name, or null.
const Model* find_model(const std::vector<Model>& models, const std::string& name);

/// By name; failure with "did you mean".
Result<Model> require_model(const std::vector<Model>& models, const std::string& name);

}  // namespace muster::facts
