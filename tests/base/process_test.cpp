#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "base/file_system.h"
#include "base/process_tree.h"
#include "testing.h"

namespace muster {
namespace {

using std::chrono::milliseconds;

Command shell(const std::string& script) {
  Command command;
  command.argv = {"sh", "-c", script};
  command.time_limit = milliseconds(20000);
  command.grace = milliseconds(300);
  return command;
}

ProcessResult run(const Command& command, const ProcessRunner::Watcher& watcher = {}) {
  auto result = real_process_runner().run(command, watcher);
  EXPECT_TRUE(result) << to_string(result.findings()[0]);
  return result ? *result : ProcessResult();
}

/// Waits, at most two seconds, until the process is gone or a zombie that its new parent has yet to
/// reap.
bool is_gone(pid_t pid) {
  for (int i = 0; i < 200; ++i) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const auto close = line.rfind(')');
    if (close == std::string::npos || line[close + 2] == 'Z') return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

std::vector<pid_t> pids_in(const std::filesystem::path& file) {
  std::vector<pid_t> pids;
  std::ifstream stream(file);
  for (pid_t pid = 0; stream >> pid;) pids.push_back(pid);
  return pids;
}

TEST(ProcessTest, KeepsOutputAndExitCode) {
  const ProcessResult result = run(shell("echo out; echo err >&2; exit 7"));
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_FALSE(result.timed_out);
}

TEST(ProcessTest, TellsTheSignal) {
  const ProcessResult result = run(shell("kill -SEGV $$"));
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
}

TEST(ProcessTest, FeedsInputAndKeepsLargeOutput) {
  Command command = shell("cat");
  command.input = std::string(3'000'000, 'x') + "\nend";
  EXPECT_EQ(run(command).out, command.input);
}

TEST(ProcessTest, InputThatIsNotReadDoesNoHarm) {
  Command command = shell("exit 0");
  command.input = std::string(3'000'000, 'x');
  EXPECT_EQ(run(command).exit_code, 0);
}

TEST(ProcessTest, BothStreamsAtOnceDoNotBlock) {
  const ProcessResult result = run(shell("head -c 500000 /dev/zero >&2; head -c 500000 /dev/zero"));
  EXPECT_EQ(result.out.size(), 500000U);
  EXPECT_EQ(result.err.size(), 500000U);
}

TEST(ProcessTest, SetsEnvironmentAndDirectory) {
  const testing::TemporaryDirectory directory;
  ::setenv("MUSTER_TEST_GONE", "1", 1);
  Command command = shell("pwd; echo $MUSTER_TEST_SET; echo ${MUSTER_TEST_GONE-unset}");
  command.env = {{"MUSTER_TEST_SET", "a b=c"}};
  command.unset = {"MUSTER_TEST_GONE"};
  command.directory = directory.path();
  EXPECT_EQ(run(command).out, directory.path().string() + "\na b=c\nunset\n");
}

TEST(ProcessTest, AppendsToFiles) {
  const testing::TemporaryDirectory directory;
  Command command = shell("echo out; echo err >&2");
  command.stdout_file = directory.path() / "out";
  command.stderr_file = directory.path() / "err";
  EXPECT_EQ(run(command).out, "");
  run(command);
  EXPECT_EQ(*real_file_system().read(directory.path() / "out"), "out\nout\n");
  EXPECT_EQ(*real_file_system().read(directory.path() / "err"), "err\nerr\n");
}

TEST(ProcessTest, ProgramsThatCantBeStartedAreNamed) {
  Command command;
  command.argv = {"no-such-program-here"};
  const auto missing = real_process_runner().run(command);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.findings()[0].message,
            "can't start 'no-such-program-here': No such file or directory");
  command.argv = {"/etc/passwd"};
  const auto forbidden = real_process_runner().run(command);
  ASSERT_FALSE(forbidden);
  EXPECT_NE(forbidden.findings()[0].message.find("Permission denied"), std::string::npos);
  command = shell("true");
  command.directory = "/no/such/place";
  EXPECT_FALSE(real_process_runner().run(command));
  EXPECT_FALSE(real_process_runner().run(Command()));
}

TEST(ProcessTest, FindsProgramsInTheChildsPath) {
  const testing::TemporaryDirectory directory;
  ASSERT_TRUE(real_file_system().write(directory.path() / "tool", "#!/bin/sh\necho mine\n", true));
  Command command;
  command.argv = {"tool"};
  command.env = {{"PATH", directory.path().string() + ":/usr/bin:/bin"}};
  EXPECT_EQ(run(command).out, "mine\n");
  EXPECT_TRUE(real_process_runner().find("sh"));
  EXPECT_FALSE(real_process_runner().find("no-such-program-here"));
  EXPECT_FALSE(real_process_runner().find("etc"));
}

// How a program may hold out: by being deaf, by having children, by their being stopped, in other
// groups, or holding the pipes.
struct Stubborn {
  const char* name;
  const char* script;
  int processes;
};

class TimeLimitTest : public ::testing::TestWithParam<Stubborn> {};

TEST_P(TimeLimitTest, EndsEverything) {
  const testing::TemporaryDirectory directory;
  Command command = shell(GetParam().script);
  command.directory = directory.path();
  command.time_limit = milliseconds(400);
  const ProcessResult result = run(command);
  EXPECT_TRUE(result.timed_out);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_LT(result.elapsed, milliseconds(15000));
  const auto pids = pids_in(directory.path() / "pids");
  ASSERT_EQ(pids.size(), static_cast<std::size_t>(GetParam().processes));
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
}

INSTANTIATE_TEST_SUITE_P(
    All, TimeLimitTest,
    ::testing::Values(
        Stubborn{"plain", "echo $$ >> pids; exec sleep 60", 1},
        Stubborn{"deaf", "trap '' TERM INT; echo $$ >> pids; while :; do sleep 1; done", 1},
        Stubborn{"grandchildren",
                 "echo $$ >> pids; sh -c 'echo $$ >> pids; sh -c \"echo \\$\\$ >> pids; sleep 60; "
                 ":\"; :'; :",
                 3},
        Stubborn{"deaf_grandchild",
                 "echo $$ >> pids; sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 1; "
                 "done'; :",
                 2},
        Stubborn{"stopped", "echo $$ >> pids; kill -STOP $$; sleep 60", 1},
        Stubborn{
            "other_group",
            "echo $$ >> pids; setsid sh -c 'echo $$ >> pids; while :; do sleep 1; done' & wait", 2},
        Stubborn{"other_group_deaf",
                 "echo $$ >> pids; setsid sh -c 'trap \"\" TERM HUP; echo $$ >> pids; while :; do "
                 "sleep 1; done' & wait",
                 2}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(ProcessTest, ChildrenLeftBehindAreEnded) {
  const testing::TemporaryDirectory directory;
  Command command = shell("sleep 60 & echo $! >> pids; echo done");
  command.directory = directory.path();
  const ProcessResult result = run(command);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "done\n");
  EXPECT_FALSE(result.timed_out);
  for (const pid_t pid : pids_in(directory.path() / "pids")) EXPECT_TRUE(is_gone(pid));
}

TEST(ProcessTest, ADaemonThatHoldsThePipeIsNotWaitedFor) {
  const testing::TemporaryDirectory directory;
  Command command = shell(
      "setsid sh -c 'echo $$ > pids; exec sleep 60' & while [ ! -s pids ]; do sleep 0.05; done; "
      "echo up");
  command.directory = directory.path();
  const ProcessResult result = run(command);
  EXPECT_EQ(result.out, "up\n");
  EXPECT_EQ(result.exit_code, 0);
  const auto pids = pids_in(directory.path() / "pids");
  ASSERT_EQ(pids.size(), 1U);
  EXPECT_EQ(::kill(pids[0], 0), 0);  // it left on purpose: a daemon is none of ours
  ::kill(pids[0], SIGKILL);
}

TEST(ProcessTest, TheWatcherEndsIt) {
  int calls = 0;
  const ProcessResult result = run(shell("sleep 60"), [&calls] { return ++calls < 2; });
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(calls, 2);
}

TEST(ProcessTest, AnInterruptEndsIt) {
  catch_interrupts();
  const ProcessResult result = run(shell("sleep 60"), [] {
    ::raise(SIGINT);
    return true;
  });
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(interrupted());
  forget_interrupts();
  EXPECT_FALSE(interrupted());
}

TEST(ProcessTest, AProgramMayEndItselfInTheGrace) {
  Command command = shell("trap 'echo saved; exit 9' TERM; while :; do sleep 0.05; done");
  command.time_limit = milliseconds(300);
  command.grace = milliseconds(10000);
  const ProcessResult result = run(command);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.exit_code, 9);
  EXPECT_EQ(result.out, "saved\n");
}

// As mpirun does: it kills its children when it is asked to end, and ends when they have.
TEST(ProcessTest, ChildrenFirstGivesThemTheWholeGrace) {
  Command command = shell(
      "setsid bash -c 'trap \"sleep 0.3; echo saved; exit 0\" TERM; while :; do sleep 0.05; done' "
      "& "
      "trap 'kill -9 $!; exit 1' TERM; until wait $!; do :; done; echo followed");
  command.time_limit = milliseconds(300);
  command.grace = milliseconds(20000);
  command.children_first = true;
  const ProcessResult result = run(command);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "saved\nfollowed\n");
}

TEST(ProcessTest, ChildrenFirstHasALimit) {
  Command command = shell(
      "bash -c 'trap \"\" TERM; while :; do sleep 0.05; done' & echo $!; while :; do wait; done");
  command.time_limit = milliseconds(300);
  command.grace = milliseconds(300);
  command.children_first = true;
  const ProcessResult result = run(command);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_TRUE(is_gone(std::stoi(result.out)));
}

TEST(ProcessTest, SeveralAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> outputs(8);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back(
        [i, &outputs] { outputs[i] = run(shell("echo " + std::to_string(i))).out; });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i], std::to_string(i) + "\n");
}

TEST(FakeProcessTest, TheLongestPrefixAnswers) {
  FakeProcessRunner runner;
  const auto answer = [](const char* text) {
    return ProcessResult{0, 0, false, false, false, text, "", {}};
  };
  runner.answer("squeue", answer("all"));
  runner.answer("squeue -j 5", answer("five"));
  Command command;
  command.argv = {"squeue", "-j", "5"};
  EXPECT_EQ(runner.run(command)->out, "five");
  command.argv = {"squeue"};
  EXPECT_EQ(runner.run(command)->out, "all");
  command.argv = {"sinfo"};
  EXPECT_FALSE(runner.run(command));
  EXPECT_EQ(runner.asked().size(), 3U);
  EXPECT_TRUE(runner.find("squeue"));
  EXPECT_FALSE(runner.find("sinfo"));
}

}  // namespace
}  // namespace muster
