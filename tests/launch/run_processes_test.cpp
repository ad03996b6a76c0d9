#include "launch/run_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace muster::launch {
namespace {

/// A sleeping process with a run's id in its environment, in a process group of its own.
pid_t sleeper(const std::string& id, bool stubborn = false) {
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    setenv("MUSTER_RUN_ID", id.c_str(), 1);
    execl("/bin/bash", "bash", "-c",
          stubborn ? "trap '' TERM; while :; do sleep 1; done" : "exec sleep 60", nullptr);
    _exit(127);
  }
  for (int i = 0; i < 200 && processes_of_run(id).empty(); ++i) usleep(10'000);
  return pid;
}

std::string unique(const std::string& name) {
  return "test-" + name + "-" + std::to_string(getpid());
}

TEST(RunProcesses, AreFoundByTheirRun) {
  const std::string id = unique("found");
  const pid_t pid = sleeper(id);
  const auto found = processes_of_run(id);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().pid, pid);
  EXPECT_TRUE(processes_of_run(id + "x").empty());
  EXPECT_EQ(end_processes_of_run(id, std::chrono::seconds(5)), 1);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_TRUE(processes_of_run(id).empty());
}

TEST(RunProcesses, AStoppedOneIsEndedToo) {
  const std::string id = unique("stopped");
  const pid_t pid = sleeper(id);
  kill(pid, SIGSTOP);
  end_processes_of_run(id, std::chrono::seconds(5));
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(RunProcesses, AStubbornOneIsKilledAfterTheGrace) {
  const std::string id = unique("stubborn");
  const pid_t pid = sleeper(id, true);
  usleep(200'000);  // until the trap is set
  end_processes_of_run(id, std::chrono::milliseconds(300));
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

}  // namespace
}  // namespace muster::launch
