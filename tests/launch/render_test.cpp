#include "launch/render.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "launch/shell.h"

namespace muster::launch {
namespace {

Job small_job() {
  Job job;
  job.run_id = "20261130-100000-llama-tiny-abcd";
  job.case_name = "training/native/llama/tiny";
  job.ranks_per_node = 2;
  job.program = {"/opt/muster/muster-train", "train", "--steps", "60"};
  job.environment = {{"GREETING", "it's $HOME"}};
  job.run_directory = "/project/.muster/runs/20261130-100000-llama-tiny-abcd";
  job.project = "/project";
  return job;
}

const RenderedFile& file(const Rendered& rendered, const std::string& path) {
  for (const RenderedFile& file : rendered.files) {
    if (file.path == path) return file;
  }
  throw std::runtime_error(path + " was not rendered");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), count);
  }
  pclose(pipe);
  return text;
}

TEST(RenderLocal, SeveralRanksGoThroughMpirun) {
  const auto rendered = render(small_job(), Target::kLocal, {2, false, true});
  ASSERT_TRUE(rendered.ok());
  const std::string& job = file(*rendered, "rendered/job.sh").content;
  EXPECT_TRUE(has(job, "exec mpirun"));
  EXPECT_TRUE(has(job, "--host localhost:2"));
  EXPECT_FALSE(has(job, "--oversubscribe"));
  EXPECT_FALSE(has(job, "--allow-run-as-root"));
  EXPECT_TRUE(has(job, "--bind-to core"));
  EXPECT_EQ(rendered->programs, std::vector<std::string>{"mpirun"});
  EXPECT_EQ(rendered->command.front(), "bash");
}

TEST(RenderLocal, BindingAndWaitingSuitTheMachine) {
  const auto binding = [](int ranks, int threads, int cores) {
    Job job = small_job();
    job.ranks_per_node = ranks;
    job.threads = threads;
    const std::string text =
        render(job, Target::kLocal, {cores, true, true})->files.front().content;
    return std::pair(has(text, "--bind-to core"), has(text, "OMPI_MCA_mpi_yield_when_idle=1"));
  };
  EXPECT_EQ(binding(2, 1, 2), std::pair(true, true));
  EXPECT_EQ(binding(4, 1, 2), std::pair(false, true));   // more ranks than cores: none is pinned
  EXPECT_EQ(binding(2, 1, 8), std::pair(false, false));  // room left: two runs must not share cores
  EXPECT_EQ(binding(2, 4, 8), std::pair(false, true));
}

TEST(RenderLocal, RootIsToldToMpirunOnlyForRoot) {
  EXPECT_TRUE(has(render(small_job(), Target::kLocal, {2, true, true})->files.front().content,
                  "--allow-run-as-root"));
}

// karpathy/llm.c#692: a single-GPU run demanded MPI.
TEST(RenderLocal, OneRankNeedsNoMpi) {
  Job job = small_job();
  job.ranks_per_node = 1;
  const auto rendered = render(job, Target::kLocal, {2, true, true});
  ASSERT_TRUE(rendered.ok());
  EXPECT_TRUE(rendered->programs.empty());
  for (const RenderedFile& file : rendered->files) {
    EXPECT_FALSE(has(file.content, "mpirun")) << file.path;
    EXPECT_FALSE(has(file.content, "OMPI_MCA")) << file.path;
  }
  Job in_slurm = job;
  EXPECT_TRUE(
      has(render(in_slurm, Target::kSlurm, {2, true, true})->files.front().content, "--mpi=none"));
}

TEST(RenderSlurm, CarriesWhatTheManifestSays) {
  Job job = small_job();
  job.nodes = 2;
  job.threads = 3;
  job.slurm.partition = "p5";
  job.slurm.account = "lab";
  job.slurm.time = "00:20:00";
  job.slurm.options = {"--exclusive", "--gres=gpu:8"};
  job.secrets = {"HF_TOKEN"};
  job.references = {{"HUB_TOKEN", "HF_TOKEN"}};
  const auto rendered = render(job, Target::kSlurm, {2, false, true});
  ASSERT_TRUE(rendered.ok());
  const std::string& script = file(*rendered, "rendered/job.sbatch").content;
  for (const char* line :
       {"#SBATCH --job-name=muster-training-native-llama-tiny\n", "#SBATCH --partition=p5\n",
        "#SBATCH --account=lab\n", "#SBATCH --time=00:20:00\n", "#SBATCH --nodes=2\n",
        "#SBATCH --ntasks-per-node=2\n", "#SBATCH --cpus-per-task=3\n", "#SBATCH --requeue\n",
        "#SBATCH --open-mode=append\n", "#SBATCH --exclusive\n", "#SBATCH --gres=gpu:8\n",
        "#SBATCH --export=PATH,HOME,USER,LANG,HF_TOKEN\n", "--mpi=pmix"}) {
    EXPECT_TRUE(has(script, line)) << line;
  }
  EXPECT_TRUE(
      has(file(*rendered, "rendered/rank.sh").content, "export HUB_TOKEN=\"${HF_TOKEN-}\"\n"));
  EXPECT_FALSE(has(script, "auto-resume"));
  EXPECT_EQ(rendered->command,
            (std::vector<std::string>{"sbatch", "--parsable",
                                      job.run_directory.string() + "/rendered/job.sbatch"}));
}

TEST(RenderSlurm, DirectivesComeBeforeTheFirstCommand) {
  const std::string script =
      render(small_job(), Target::kSlurm, {2, false, true})->files.front().content;
  EXPECT_LT(script.rfind("#SBATCH"), script.find("\nset -eu"));
}

TEST(RenderSlurm, AutoResumeIsForHyperPodOnly) {
  Job job = small_job();
  job.slurm.auto_resume = true;
  const std::string script = render(job, Target::kSlurm, {2, false, true})->files.front().content;
  EXPECT_TRUE(has(script, "if [ -d /opt/sagemaker_cluster ]; then resume=(--auto-resume=1); fi\n"));
}

TEST(Render, TheSameRankScriptHoldsTheProgram) {
  for (const Target target : {Target::kLocal, Target::kSlurm}) {
    const auto rendered = render(small_job(), target, {2, false, true});
    const RenderedFile& rank = file(*rendered, "rendered/rank.sh");
    EXPECT_TRUE(rank.executable);
    EXPECT_TRUE(has(rank.content, "exec /opt/muster/muster-train train \\\n  --steps 60\n"));
    EXPECT_TRUE(has(rank.content, "export GREETING='it'\\''s $HOME'\n"));
  }
}

TEST(Render, ScriptsAreValidShell) {
  for (const Target target : {Target::kLocal, Target::kSlurm}) {
    const auto rendered = render(small_job(), target, {2, false, true});
    for (const RenderedFile& file : rendered->files) {
      EXPECT_EQ(output_of("bash -n <<'EOF-OF-TEST' 2>&1\n" + file.content + "EOF-OF-TEST\n"), "")
          << file.path;
    }
  }
}

TEST(Render, IsDeterministic) {
  for (const Target target : {Target::kLocal, Target::kSlurm}) {
    const auto first = render(small_job(), target, {2, false, true});
    const auto second = render(small_job(), target, {2, false, true});
    for (std::size_t i = 0; i < first->files.size(); ++i) {
      EXPECT_EQ(first->files[i].content, second->files[i].content);
    }
  }
}

TEST(Render, RefusesWhatCantBeCarried) {
  const auto refused = [](Job job, Target target) {
    const auto rendered = render(job, target, {2, false, true});
    return rendered.ok() ? std::string() : rendered.findings().front().rule;
  };
  Job job = small_job();
  job.nodes = 0;
  EXPECT_EQ(refused(job, Target::kLocal), "launch-world");
  job = small_job();
  job.environment.emplace_back("NAME", "two\nlines");
  EXPECT_EQ(refused(job, Target::kLocal), "launch-value");
  job = small_job();
  job.environment.emplace_back("NO-NAME", "x");
  EXPECT_EQ(refused(job, Target::kLocal), "launch-variable");
  job = small_job();
  job.slurm.partition = "p5 --wrap=reboot";
  EXPECT_EQ(refused(job, Target::kSlurm), "launch-value");
  job = small_job();
  job.run_directory = "/my runs/1";
  EXPECT_EQ(refused(job, Target::kSlurm), "launch-path");
  EXPECT_EQ(refused(job, Target::kLocal), "");
}

TEST(Target, IsNamedWithAHint) {
  EXPECT_EQ(*parse_target("slurm"), Target::kSlurm);
  const auto wrong = parse_target("slrum");
  ASSERT_FALSE(wrong.ok());
  EXPECT_TRUE(has(wrong.findings().front().hint, "slurm"));
}

RC_GTEST_PROP(JobName, IsAlwaysOneThatSlurmTakes, (const std::string& name)) {
  const std::string job = slurm_job_name(name);
  RC_ASSERT(job.size() <= 64U);
  RC_ASSERT(
      job.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
      std::string::npos);
}

TEST(ShellQuote, TheShellReadsBackWhatWasMeant) {
  // One shell for all of them: words are printed with a line break each.
  const std::vector<std::string> words = {
      "",         "plain", "two words", "it's", "$HOME `id` \\ \"x\"",
      "*?[a]",    "~",     "#no",       "-n",   "a;b&c|d",
      "umlaut ä", "{a,b}", "!x",        "a=b"};
  std::string command = "printf '%s\\n'";
  std::string expected;
  for (const std::string& word : words) {
    command += " " + shell_quote(word);
    expected += word + "\n";
  }
  EXPECT_EQ(output_of(command), expected);
}

RC_GTEST_PROP(ShellQuote, LeavesNoOpenQuote, (const std::string& text)) {
  const std::string quoted = shell_quote(text);
  // Outside of single quotes only safe characters and \' may stand.
  bool inside = false;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] == '\'') {
      inside = !inside;
    } else if (!inside && quoted[i] == '\\') {
      RC_ASSERT(quoted.at(++i) == '\'');
    } else if (!inside) {
      RC_ASSERT(std::string(" $`\"\\;&|<>()*?[]{}~#!\n").find(quoted[i]) == std::string::npos);
    }
  }
  RC_ASSERT(!inside);
}

}  // namespace
}  // namespace muster::launch
