// The program muster as tests start it: in the foreground, or in the background to be disturbed.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace muster::testing {

struct Finished {
  int exit_code = -1;
  std::string out;
  std::string err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// `verdict.checks[]` of that name: {outcome, evidence}.
nlohmann::json check(const nlohmann::json& run, const std::string& name);

/// muster with a runs' directory of its own and the given trainer.
class Muster {
 public:
  /// `libexec` is the folder of muster-train; `runs` is made.
  Muster(std::filesystem::path libexec, std::filesystem::path runs);

  std::map<std::string, std::string> environment;  ///< on top of this process's
  std::vector<std::string> unset;
  std::filesystem::path program;  ///< of muster

  Finished run(const std::vector<std::string>& arguments,
               std::chrono::seconds limit = std::chrono::seconds(120)) const;
  const std::filesystem::path& runs() const { return runs_; }

  /// The directory of the one run that there is.
  std::filesystem::path only_run() const;

 private:
  friend class Background;
  std::vector<std::string> words(const std::vector<std::string>& arguments) const;
  std::filesystem::path runs_;
};

/// A muster that goes on; killed at the end of the scope if it has not ended.
class Background {
 public:
  Background(const Muster& muster, const std::vector<std::string>& arguments);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { kill(pid_, number); }

  /// Waits for its end. Exit code -1: it did not end within the limit and was killed.
  Finished finish(std::chrono::seconds limit);

 private:
  pid_t pid_ = -1;
  std::filesystem::path folder_;
};

/// Waits until `condition` holds, at most `limit`.
template <typename Condition>
bool eventually(Condition condition, std::chrono::seconds limit = std::chrono::seconds(30));

/// Steps that a rank has recorded in a run's directory.
int steps_of(const std::filesystem::path& run, int rank);

/// The process of a rank, as its start event says; 0 when it has not started.
pid_t pid_of(const std::filesystem::path& run, int rank);

/// Whole text of a file; empty when it is not there.
std::string text_of(const std::filesystem::path& path);

// ---- implementation

void pause_shortly();

template <typename Condition>
bool eventually(Condition condition, std::chrono::seconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    pause_shortly();
  }
  return true;
}

}  // namespace muster::testing
