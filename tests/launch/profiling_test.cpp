// The script that runs a process under nsys, with a stand-in for nsys: what is the program's stays
// the program's.
#include "launch/profiling.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/file_system.h"
#include "base/process.h"
#include "launch/workload_case.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;

const facts::Nsight& nsight() {
  static const auto kKnown = facts::load_nsight(real_file_system(), MUSTER_SOURCE_DIR);
  return *kKnown;
}

class NsysScript : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "muster-capture-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void stand_in(const std::string& body) {
    const std::string start =
        "#!/bin/bash\n"
        "if [ \"$1\" = --version ]; then echo '2024.4.1'; exit; fi\n"
        "if [ \"$1\" = stats ]; then exit 3; fi\n"
        "echo \"$*\" >'" +
        (folder_ / "asked").string() +
        "'\n"
        "while [ \"$1\" != bash ]; do shift; done\n";
    ASSERT_TRUE(real_file_system().write(folder_ / "bin/nsys", start + body, true));
  }

  /// Runs `program` (bash) under the script; `during` is called about ten times a second.
  ProcessResult run(const std::string& program, bool efa = false,
                    const ProcessRunner::Watcher& during = {}) {
    Profiling asked;
    asked.tool = Profiling::Tool::kNsys;
    asked.nsys = (folder_ / "bin/nsys").string();
    asked.least_free = 0;
    Command command;
    for (const Word& word : nsys_words(asked, nsight(), (folder_ / "out").string(), "demo", efa))
      command.argv.push_back(word.text);
    command.argv.insert(command.argv.end(), {"bash", "-c", program});
    command.env = {{"RANK", "0"}, {"LOCAL_RANK", "0"}};
    command.time_limit = std::chrono::seconds(120);
    auto result = real_process_runner().run(command, during);
    if (!result) throw std::runtime_error(to_string(result.findings().front()));
    return *result;
  }

  std::string asked() const {
    const auto text = real_file_system().read(folder_ / "asked");
    return text ? *text : std::string();
  }

  fs::path folder_;
};

TEST_F(NsysScript, PassesTheExitCodeThrough) {
  stand_in("\"$@\"\nexit 0\n");
  EXPECT_EQ(run("exit 41").exit_code, 41);
  EXPECT_EQ(run("exit 0").exit_code, 0);
  EXPECT_EQ(run("kill -KILL $$").exit_code, 137);
}

TEST_F(NsysScript, WaitsForTheProgramWhenNsysLeaves) {
  stand_in("\"$@\" &\nexit 0\n");
  const auto result = run("sleep 2; echo still here; exit 5");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_NE(result.out.find("still here"), std::string::npos);
}

TEST_F(NsysScript, AnNsysThatStartsNothingIsAFailure) {
  stand_in("exit 0\n");
  const auto result = run("exit 0");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("before the program did"), std::string::npos);
}

TEST_F(NsysScript, SignalsReachTheProgramThroughAnNsysThatIgnoresThem) {
  for (const char* signal : {"TERM", "INT", "USR1"}) {
    stand_in("trap : TERM USR1 INT\n\"$@\"\nexit 0\n");
    const fs::path ready = folder_ / ("ready-" + std::string(signal));
    // The script's own process is the parent of nsys, which is the parent of the program's parent.
    std::string program = "trap 'exit 33' ";
    program += signal;
    program += "; echo $PPID >'" + ready.string() + "'; for i in {1..600}; do sleep 0.1; done";
    bool sent = false;
    const auto result = run(program, false, [&] {
      std::ifstream file(ready);
      int pid = 0;
      if (!sent && file >> pid) {
        // Up from the shell around the program, over nsys, to the script.
        for (int level = 0; level < 3; ++level) {
          std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
          std::string word, text;
          std::getline(status, text);
          std::istringstream rest(text.substr(text.rfind(')') + 1));
          int parent = 0;
          rest >> word >> parent;
          std::ifstream command("/proc/" + std::to_string(pid) + "/cmdline");
          std::string line((std::istreambuf_iterator<char>(command)),
                           std::istreambuf_iterator<char>());
          if (line.find("muster-nsys") != std::string::npos) break;
          pid = parent;
        }
        sent = std::system(
                   ("kill -s " + std::string(signal) + " " + std::to_string(pid)).c_str()) == 0;
      }
      return true;
    });
    EXPECT_EQ(result.exit_code, 33) << signal << result.err;
  }
}

TEST_F(NsysScript, EfaIsAskedForAsTheVersionSpellsIt) {
  stand_in("\"$@\"\n");
  run("exit 0", true);
  EXPECT_NE(asked().find("--enable=nic_sampler,-mode:counters,-struct:true,-efa:true"),
            std::string::npos);
  EXPECT_EQ(asked().find("efa_metrics"), std::string::npos);
  EXPECT_NE(asked().find("--kill=none"), std::string::npos);
}

TEST_F(NsysScript, AMissingNsysIsSaidBeforeTheProgramStarts) {
  const auto result = run("echo started");
  EXPECT_EQ(result.exit_code, 127);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("rank 0 can't be profiled"), std::string::npos);
}

}  // namespace
}  // namespace muster::launch
