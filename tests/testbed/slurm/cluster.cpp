#include "cluster.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>

#include "launch/muster_process.h"

namespace muster::testbed {
namespace {

namespace fs = std::filesystem;
constexpr int kSkipped = 77;

fs::path talk() {
  return state().string() + ".talk";
}

}  // namespace

const fs::path& state() {
  static const fs::path kState = "/run/muster-testbed-" + std::to_string(getpid());
  return kState;
}

ProcessResult cluster(std::vector<std::string> words, std::chrono::seconds limit) {
  words.insert(words.begin(), kClusterScript);
  Command command;
  command.argv = words;
  command.env = {{"MUSTER_TESTBED", state().string()}, {"MUSTER_TESTBED_LIFE", "280"}};
  command.time_limit = limit;
  // The daemons keep what they inherit open; a pipe would never end.
  fs::create_directories(talk());
  command.stdout_file = talk() / "out";
  command.stderr_file = talk() / "err";
  fs::remove(command.stdout_file);
  fs::remove(command.stderr_file);
  const auto result = real_process_runner().run(command);
  if (!result) return {};
  ProcessResult ended = *result;
  ended.out = muster::testing::text_of(command.stdout_file);
  ended.err = muster::testing::text_of(command.stderr_file);
  return ended;
}

std::string on_controller(std::vector<std::string> words) {
  words.insert(words.begin(), {"exec", "ctl", "timeout", "20"});
  return cluster(words).out;
}

void remove_cluster() {
  cluster({"down"});
  fs::remove_all(talk());
}

int run_tests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto able = cluster({"check"});
  fs::remove_all(talk());
  if (able.exit_code != 0) {
    std::cout << able.out << able.err << std::flush;
    return able.exit_code == kSkipped ? kSkipped : 1;
  }
  return RUN_ALL_TESTS();
}

}  // namespace muster::testbed
