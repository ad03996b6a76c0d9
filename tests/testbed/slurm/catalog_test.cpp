// Every batch script of the catalog before a live controller: its directives by `sbatch
// --test-only`, and the options of its srun lines, which --test-only does not read, against the
// live `srun --help` and what pyxis and HyperPod add.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/file_system.h"
#include "cluster.h"
#include "facts/slurm.h"
#include "launch/muster_process.h"
#include "lint/sbatch.h"
#include "testing.h"

namespace muster::testbed {
namespace {

namespace fs = std::filesystem;
using muster::testing::text_of;

std::vector<std::string> scripts() {
  std::vector<std::string> found;
  for (const char* catalog : {"test_cases", "micro-benchmarks"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(muster::testing::source_dir() / catalog)) {
      if (entry.path().extension() == ".sbatch") found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// What a help text lists: "  -N, --nodes=N   …", "      --mem-bind=…".
std::set<std::string> options_in(const std::string& help) {
  static const std::regex kOption("^ +(-[A-Za-z], *)?--([a-z][a-z0-9-]+)");
  std::set<std::string> names;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_search(line, found, kOption)) names.insert(found[2]);
  }
  return names;
}

class Catalog : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const ProcessResult up = cluster({"up", "catalog"}, std::chrono::seconds(60));
    ASSERT_EQ(up.exit_code, 0) << up.err;
  }
  static void TearDownTestSuite() { remove_cluster(); }

  /// One line for each script that the controller refuses: its path and Slurm's words.
  static std::string refused(const std::vector<std::string>& paths) {
    std::vector<std::string> words = {
        "exec",
        "ctl",
        "bash",
        "-c",
        "for file; do said=$(timeout 20 sbatch --test-only \"$file\" 2>&1) || "
        "echo \"$file: $said\"; done",
        "try"};
    words.insert(words.end(), paths.begin(), paths.end());
    const ProcessResult ended = cluster(words, std::chrono::seconds(200));
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.out;
  }

  static std::string written(const std::string& name, const std::string& directives) {
    const fs::path path = state() / name;
    std::ofstream(path) << "#!/bin/bash\n" << directives << "srun true\n";
    return path.string();
  }
};

TEST_F(Catalog, EveryScriptIsTaken) {
  const auto paths = scripts();
  EXPECT_GT(paths.size(), 50U);
  EXPECT_EQ(refused(paths), "");
}

TEST_F(Catalog, AScriptThatNoNodeCanRunIsRefused) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"nine-gpus", "#SBATCH --gpus-per-node=9\n"},
      {"too-many-nodes", "#SBATCH --nodes=4000\n"},
      {"no-such-option", "#SBATCH --gpuz-per-node=8\n"},
      {"no-such-time", "#SBATCH --time=soon\n"},
      {"no-such-gres", "#SBATCH --gres=tpu:4\n"},
  };
  for (const auto& [name, directives] : bad)
    EXPECT_NE(refused({written(name, directives)}), "") << name;
  EXPECT_EQ(refused({written("good", "#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n")}), "");
}

TEST_F(Catalog, EverySrunIsGivenOptionsThatThereAre) {
  const std::set<std::string> live = options_in(on_controller({"srun", "--help"}));
  EXPECT_GT(live.size(), 80U);
  const std::string plugins = cluster({"exec", "ctl", "bash", "-c", "srun --mpi=list 2>&1"}).out;
  const auto known = facts::load_slurm_options(real_file_system(), muster::testing::source_dir());
  ASSERT_TRUE(known.ok());
  std::vector<facts::SlurmOption> all = known->srun;
  all.insert(all.end(), known->hyperpod.begin(), known->hyperpod.end());

  std::size_t calls = 0, options = 0;
  for (const std::string& path : scripts()) {
    const std::string text = text_of(path);
    const lint::SbatchScript script = lint::parse_sbatch(text, *known);
    for (const lint::ShellCommand& command : script.shell.commands) {
      const auto srun = lint::find_srun(command);
      if (!srun) continue;
      ++calls;
      lint::SrunOptions given = lint::srun_options(script, command, *srun, all);
      given.written.insert(given.written.end(), given.listed.begin(), given.listed.end());
      for (const lint::SbatchOption& option : given.written) {
        ++options;
        const bool there = live.count(option.name) > 0 ||
                           facts::find_option(known->pyxis, option.name) != nullptr ||
                           facts::find_option(known->hyperpod, option.name) != nullptr;
        EXPECT_TRUE(there) << path << ": " << option.written;
        EXPECT_FALSE(option.wants_value || option.refuses_value) << path << ": " << option.written;
        if (option.name == "mpi") {
          EXPECT_NE(plugins.find(option.value), std::string::npos) << path << ": " << option.value;
        }
      }
    }
  }
  // Each script starts its program with one, and asks its nodes with another where it has several.
  EXPECT_GE(calls, scripts().size());
  EXPECT_GE(options, 4 * calls);
}

// What `muster validate` believes of Slurm's options is what the live programs say.
TEST_F(Catalog, TheTablesOfOptionsHoldWhatThereIs) {
  const auto known = facts::load_slurm_options(real_file_system(), muster::testing::source_dir());
  ASSERT_TRUE(known.ok());
  for (const auto& [program, table] :
       {std::pair{"sbatch", &known->sbatch}, std::pair{"srun", &known->srun}}) {
    const auto live = options_in(on_controller({program, "--help"}));
    EXPECT_GT(live.size(), 80U) << program;
    for (const std::string& name : live)
      EXPECT_NE(facts::find_option(*table, name), nullptr) << program << " --" << name;
  }
}

}  // namespace
}  // namespace muster::testbed

int main(int argc, char** argv) {
  return muster::testbed::run_tests(argc, argv);
}
