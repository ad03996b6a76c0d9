// The rendered batch scripts, read and run: bash is real, srun and scontrol are stand-ins that do
// what Slurm's do on one machine.
#include "launch/slurm_script.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

#include "workload_case.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;
using catalog::Override;
using workload_test::render;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "muster-slurm-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    fs::permissions(path_ / name, fs::perms::owner_all);
  }

 private:
  fs::path path_;
};

struct Outcome {
  int code = -1;
  std::string output;
};

Outcome shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = ::popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    outcome.output.append(buffer, count);
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

/// A case that runs anywhere: no container, and a program of the shell.
std::vector<Override> bare(std::vector<Override> more = {}) {
  std::vector<Override> overrides = {
      {"targets.slurm.container", "none"},
      {"launcher", "srun-rank"},
      {"rendezvous.backend", "null"},
      {"topology", "{nodes: 2, accelerators_per_node: 2, accelerator: cpu, instance_type: null}"},
      {"env.profile", "none"},
      {"storage", "null"},
      {"entrypoint.workdir", "/tmp"},
      {"entrypoint.script", "/bin/echo"},
      {"entrypoint.args", "[\"rank ${RANK} of ${WORLD_SIZE} at ${MASTER_ADDR}\", \"it's $5\"]"}};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

/// Runs the script as a job of two nodes, of which `answering` answer.
Outcome run_script(const std::string& script, const std::string& answering) {
  const Folder folder;
  folder.write("job.sbatch", script);
  folder.write("scontrol", "#!/bin/bash\nprintf 'n1\\nn2\\n'\n");
  folder.write(
      "srun",
      "#!/bin/bash\n"
      "per_node=2\n"
      "for word; do case $word in --ntasks-per-node=*) per_node=${word#*=} ;; esac; done\n"
      "while [ \"$1\" != bash ]; do shift; done\n"
      "node=0\n"
      "for SLURMD_NODENAME in n1 n2; do\n"
      "  if [[ \" $ANSWERING \" == *\" $SLURMD_NODENAME \"* ]]; then\n"
      "    for ((i = 0; i < per_node; i++)); do\n"
      "      SLURMD_NODENAME=$SLURMD_NODENAME SLURM_NODEID=$node SLURM_LOCALID=$i "
      "SLURM_PROCID=$((node * per_node + i)) SLURM_NTASKS=$((2 * per_node)) \"$@\" || exit\n"
      "    done\n"
      "  fi\n"
      "  node=$((node + 1))\n"
      "done\n"
      "if [ \"$ANSWERING\" != 'n1 n2' ]; then sleep 20; fi\n");
  const std::string where = folder.path().string();
  return shell("cd " + where + " && env -i PATH=" + where + ":/usr/bin:/bin ANSWERING='" +
               answering +
               "' HF_TOKEN=x SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=2 SLURM_JOB_NODELIST='n[1-2]' "
               "SLURM_CPUS_ON_NODE=4 SLURM_SUBMIT_DIR=" +
               where + " bash job.sbatch");
}

std::string script_of(const std::vector<Override>& overrides) {
  const auto rendered = render(overrides, Target::kSlurm);
  EXPECT_TRUE(rendered.ok()) << (rendered ? "" : to_string(rendered.findings().front()));
  return rendered ? rendered->files.front().content : std::string();
}

TEST(SlurmScript, EveryProcessHasItsRankAndTheNodesSayThatTheyCame) {
  const Outcome outcome = run_script(script_of(bare()), "n1 n2");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string line = "rank " + std::to_string(rank) + " of 4 at n1 it's $5\n";
    EXPECT_NE(outcome.output.find(line), std::string::npos) << outcome.output;
  }
  for (const char* node : {"muster: node 0 of 2 started, 2 processes, on ",
                           "muster: node 1 of 2 started, 2 processes, on "})
    EXPECT_NE(outcome.output.find(node), std::string::npos) << outcome.output;
}

TEST(SlurmScript, ANodeThatDoesNotComeEndsTheJobAndIsNamed) {
  const Outcome outcome = run_script(script_of(bare({{"rendezvous.start_timeout", "1s"}})), "n1");
  EXPECT_EQ(outcome.code, 124) << outcome.output;
  EXPECT_NE(outcome.output.find("within 1 s these nodes did not come: n2"), std::string::npos)
      << outcome.output;
}

TEST(SlurmScript, AMissingSecretIsNamedBeforeAnythingStarts) {
  const std::string script =
      script_of(bare({{"secrets", "[{env: NOT_THERE, from: {secret: a, key: b}}]"}}));
  const Outcome outcome = run_script(script, "n1 n2");
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.output.find("NOT_THERE"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("rank 0"), std::string::npos) << outcome.output;
}

TEST(SlurmScript, DirectivesComeBeforeAnyCommand) {
  for (const std::string& script : {script_of({}), script_of(bare())}) {
    bool command = false;
    std::size_t at = 0;
    while (at < script.size()) {
      const std::string line = script.substr(at, script.find('\n', at) - at);
      at += line.size() + 1;
      if (line.starts_with("#SBATCH")) {
        EXPECT_FALSE(command) << line;
      }
      if (!line.empty() && line[0] != '#') command = true;
    }
  }
}

TEST(SlurmScript, ContainersAreAskedForInAnArray) {
  const std::string script = script_of({});
  for (const char* part :
       {"#SBATCH --nodes=4\n", "#SBATCH --ntasks-per-node=1\n", "#SBATCH --gpus-per-node=8\n",
        "#SBATCH --exclusive\n", "#SBATCH --time=06:00:00\n", "#SBATCH --output=%x_%j.out\n",
        "#SBATCH --export=PATH,HOME,USER,LANG,HF_TOKEN,MUSTER_IMAGE\n",
        "image='registry.test#team/demo:1.2'\n", "--container-image=\"$image\"\n",
        "--container-mounts=/fsx:/fsx\n", "--container-workdir=/demo\n",
        "if [ -d /opt/sagemaker_cluster ]; then resume=(--auto-resume=1); fi\n",
        "\"${resume[@]}\" \"${container[@]}\""})
    EXPECT_NE(script.find(part), std::string::npos) << part << "\n" << script;
  EXPECT_EQ(script.find("$(dirname"), std::string::npos);
  const std::string enroot = script_of({{"targets.slurm.container", "enroot"}});
  EXPECT_NE(
      enroot.find("container=(enroot start --rw --mount /fsx:/fsx --env FI_EFA_USE_HUGE_PAGE"),
      std::string::npos)
      << enroot;
}

TEST(SlurmScript, ReadsAsBash) {
  const Folder folder;
  for (const char* container : {"none", "pyxis", "enroot"}) {
    const auto rendered = render(
        {{"targets.slurm.container", container},
         {"image.uri", "\"${IMAGE_REGISTRY}/demo:1.2\""},
         {"steps",
          "[{name: get, command: [bash, -c, \"echo 'a' > $HOME\"], array: 4}, "
          "{name: merge, when: after, command: [python3, /demo/merge.py], accelerators: 1}]"}},
        Target::kSlurm);
    ASSERT_TRUE(rendered.ok()) << to_string(rendered.findings().front());
    ASSERT_EQ(rendered->files.size(), 4U);
    for (const RenderedFile& file : rendered->files) {
      folder.write("script", file.content);
      EXPECT_EQ(shell("bash -n " + (folder.path() / "script").string()).output, "") << file.content;
    }
    const std::string& submit = rendered->files.back().content;
    EXPECT_LT(submit.find("tiny-1-get.sbatch"), submit.find("/tiny.sbatch"));
    EXPECT_LT(submit.find("/tiny.sbatch"), submit.find("tiny-2-merge.sbatch"));
    EXPECT_NE(submit.find("--dependency=\"afterok:${job%%;*}\""), std::string::npos);
    EXPECT_NE(rendered->files[1].content.find("#SBATCH --array=0-3\n"), std::string::npos);
  }
}

TEST(SlurmScript, RefusesWhatSbatchDoesNotTake) {
  const std::vector<Override> refused = {{"targets.slurm.partition", "\"a b\""},
                                         {"targets.slurm.mounts", "[/fsx]"},
                                         {"targets.slurm.options", "[constraint=gpu]"},
                                         {"targets.slurm.venv", "/fsx/venv"}};
  for (const Override& override : refused) {
    const auto rendered = render({override}, Target::kSlurm);
    ASSERT_FALSE(rendered.ok()) << override.first;
    EXPECT_EQ(rendered.findings().front().rule, "launch-value");
  }
}

TEST(Pyxis, MarksTheRegistry) {
  EXPECT_EQ(pyxis_image("ghcr.io/a/b:1"), "ghcr.io#a/b:1");
  EXPECT_EQ(pyxis_image("localhost:5000/a:1"), "localhost:5000#a:1");
  EXPECT_EQ(pyxis_image("rayproject/ray:2"), "rayproject/ray:2");
  EXPECT_EQ(pyxis_image("/fsx/a.sqsh"), "/fsx/a.sqsh");
}

}  // namespace
}  // namespace muster::launch
