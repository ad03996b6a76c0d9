// Runs the built muster-train.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/process.h"

namespace muster::train {

inline ProcessResult run_program(std::vector<std::string> arguments, std::string input = {}) {
  Command command;
  command.argv = {std::string(MUSTER_BINARY_DIR) + "/bin/muster-train"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.input = std::move(input);
  command.env = {{"OMP_NUM_THREADS", "1"}};
  command.time_limit = std::chrono::seconds(110);
  auto result = real_process_runner().run(command);
  if (!result) throw std::runtime_error(to_string(result.findings().front()));
  return std::move(result).value();
}

inline std::filesystem::path tests_path() {
  return std::filesystem::path(MUSTER_SOURCE_DIR) / "tests/engine";
}

/// A temporary folder.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-score-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string put(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace muster::train
