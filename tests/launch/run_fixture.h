// Runs of the tiny native case on two ranks, with a trainer of the test's choice.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launch/muster_process.h"
#include "testing.h"

namespace muster::testing {

class RunFixture : public ::testing::Test {
 protected:
  struct Program {
    std::string name;
    std::string package;  ///< of Debian
  };

  /// `libexec` is the folder of muster-train; `programs` are what the test needs on this machine.
  RunFixture(const std::filesystem::path& libexec, std::vector<Program> programs);

  void SetUp() override;

  /// Writes the text that is trained on: a few words, or what a test needs instead.
  void write_text(const std::string& content) const;

  /// A run of the tiny case on that text.
  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const;

  /// Starts a run, and waits until both ranks have told more than `steps` steps.
  std::unique_ptr<Background> start(const std::vector<std::string>& more, int steps,
                                    std::chrono::seconds limit) const;

  std::string state() const;
  void expect_nothing_left() const;
  static std::string host();

  TemporaryDirectory directory_;
  Muster muster_;
  std::filesystem::path text_;

 private:
  std::vector<Program> programs_;
};

}  // namespace muster::testing
