// Runs of tests/launch/foreign/case.yaml: a case of another framework whose launcher and program
// are scripts that misbehave on request.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "launch/muster_process.h"
#include "testing.h"

namespace muster::testing {

class ForeignFixture : public ::testing::Test {
 protected:
  /// `options`: of `muster run`, in each of these runs.
  explicit ForeignFixture(std::vector<std::string> options = {})
      : muster_("/nowhere", directory_.path() / "runs"), options_(std::move(options)) {}

  static std::filesystem::path folder() { return source_dir() / "tests/launch/foreign"; }

  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"run", (folder() / "case.yaml").string(), "-o", "json"};
    words.insert(words.end(), options_.begin(), options_.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string evidence(const Finished& run, const char* name) {
    return check(run.json(), name)["evidence"];
  }

  TemporaryDirectory directory_;
  Muster muster_;

 private:
  std::vector<std::string> options_;
};

}  // namespace muster::testing
