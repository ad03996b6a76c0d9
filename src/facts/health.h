// Thresholds of the health checks. The data is facts/health.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

struct Threshold {
  double value = 0;  ///< a number, or bytes
  std::string doc, source;
};

class Thresholds {
 public:
  explicit Thresholds(std::map<std::string, Threshold, std::less<>> rows)
      : rows_(std::move(rows)) {}
  Thresholds() = default;

  /// The value of a threshold; one that the file does not have is a bug of the caller.
  double at(std::string_view name) const;
  /// The value of any threshold of the file, or nothing.
  std::optional<double> find(std::string_view name) const;
  std::size_t size() const { return rows_.size(); }

 private:
  std::map<std::string, Threshold, std::less<>> rows_;
};

/// Fails when one that the checks need is missing.
Result<Thresholds> load_health(const FileSystem& files, const std::filesystem::path& root);
Result<Thresholds> parse_health(const std::string& text, const std::string& file);

}  // namespace muster::facts
