// The files that make_reference.py left.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

namespace muster::text {

inline std::filesystem::path reference_path(const std::string& name) {
  return std::filesystem::path(MUSTER_SOURCE_DIR) / "tests/engine/text/reference" / name;
}

inline std::string reference_text(const std::string& name) {
  std::ifstream file(reference_path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline nlohmann::json reference_json(const std::string& name) {
  return nlohmann::json::parse(reference_text(name));
}

}  // namespace muster::text
