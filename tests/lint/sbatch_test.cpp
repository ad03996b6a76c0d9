// Batch scripts: each defect once, in a script that is right otherwise.
#include "lint/sbatch.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "findings_text.h"
#include "lint/lint.h"
#include "lint/sbatch_rules.h"
#include "testing.h"

namespace muster::lint {
namespace {

const facts::Facts& known_facts() {
  static const facts::Facts kFacts = [] {
    facts::Facts facts;
    const auto text = real_file_system().read(std::filesystem::path(testing::source_dir()) /
                                              "facts/slurm-options.yaml");
    if (!text) throw std::runtime_error("facts/slurm-options.yaml can't be read");
    const auto options = facts::parse_slurm_options(*text, "slurm-options.yaml");
    if (!options) throw std::runtime_error("facts/slurm-options.yaml is not valid");
    facts.slurm = *options;
    return facts;
  }();
  return kFacts;
}

Findings check(const std::string& text, const std::string& path = "/p/job.sbatch",
               const FileSystem* files = nullptr) {
  bool unreadable = false;
  Findings findings = kSbatchChecker.check({path, "/p", text, files}, known_facts(), unreadable);
  EXPECT_FALSE(unreadable) << "no rule was applied";
  return findings;
}

std::string script(const std::string& directives, const std::string& body) {
  return "#!/bin/bash\n#SBATCH --nodes=2\n" + directives + "set -euo pipefail\n" + body;
}

struct Defect {
  const char* rule;
  const char* directives;
  const char* body;
  int line;  ///< 3 is the first of the directives, 4 + their number the first of the body
};

TEST(Sbatch, EachRuleFindsItsDefect) {
  const std::vector<Defect> all = {
      // Options and directives.
      {"sbatch-option", "#SBATCH --outptu=x\n", "", 3},
      {"sbatch-option", "#SBATCH --auto-resume=1\n", "", 3},
      {"sbatch-option", "#SBATCH nodes=2\n", "", 3},
      {"sbatch-option", "", "srun --ntaks=2 true\n", 4},
      {"sbatch-option", "", "ARGS=(\n  --contaner-image=a\n)\nsrun \"${ARGS[@]}\" true\n", 5},
      {"sbatch-option", "", "declare -a A=(--label --lable)\nexec srun \"${A[@]}\" true\n", 4},
      {"sbatch-option-value", "", "A=(--container-image)\nsrun \"${A[@]}\" x\n", 4},
      {"sbatch-option-value", "#SBATCH --exclusive --job-name\n", "", 3},
      {"sbatch-option-value", "#SBATCH --hold=yes\n", "", 3},
      {"sbatch-option-value", "", "srun --label=yes true\n", 4},
      {"sbatch-directive-late", "", "true\n#SBATCH --time=1\n", 5},
      {"sbatch-directive-form", "# SBATCH --exclusive\n", "", 3},
      {"sbatch-directive-form", "  #SBATCH --exclusive\n", "", 3},
      {"sbatch-directive-form", "#sbatch --exclusive\n", "", 3},
      // logs/ that nothing creates.
      {"sbatch-log-directory", "#SBATCH --output=logs/%x_%j.out\n", "", 3},
      {"sbatch-log-directory", "#SBATCH -e logs/%x_%j.err\n", "mkdir -p logs\n", 3},
      {"sbatch-log-directory", "#SBATCH --output=/fsx/logs/%x/%A.out\n", "", 3},
      // The spool directory.
      {"sbatch-spool-path", "", "cd \"$(dirname \"$0\")\"\n", 4},
      {"sbatch-spool-path", "", "here=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\n", 4},
      {"sbatch-spool-path", "", "here=${0%/*}\n", 4},
      // Waits.
      {"sbatch-unbounded-wait", "", "while [ ! -f ready ]; do\n  sleep 5\ndone\n", 4},
      {"sbatch-unbounded-wait", "", "until ping -c1 host; do sleep 1; done\n", 4},
      {"sbatch-unbounded-wait", "", "while true; do test -f a && break; done\n", 4},
      // Variables.
      {"sbatch-unset", "", "export FI_PROVIDER=$FI_PROVIDER_NAME\n", 4},
      {"sbatch-unset", "", "echo \"${DATASET_CONFIG_NAME}\"\n", 4},
      {"sbatch-unset", "", "echo $SLURM_JOB_NUM_NODE\n", 4},
      {"sbatch-unset", "", "cat <<EOF\n$HOSTS\nEOF\n", 5},
      // MPI, containers, tasks.
      {"sbatch-mpi", "", "srun --mpi=pmi3 true\n", 4},
      {"sbatch-mount", "", "srun --container-mounts $PWD true\n", 4},
      {"sbatch-mount", "", "ARGS=(--container-image a\n  --container-mounts \"$(pwd)\")\n", 5},
      {"sbatch-mount", "", "srun --container-mounts=/fsx:/fsx,/data true\n", 4},
      {"sbatch-tasks", "#SBATCH --ntasks=1\n", "", 3},
      {"sbatch-tasks", "#SBATCH --ntasks-per-node=8 --ntasks=8\n", "", 3},
      {"sbatch-tasks", "#SBATCH --gpus-per-node=8 --gres=gpu:4\n", "", 3},
      {"sbatch-tasks", "#SBATCH --cpus-per-task=0\n", "", 3},
      {"sbatch-tasks", "#SBATCH --gpus-per-node=8 --ntasks-per-node=8 --gpus-per-task=2\n", "", 3},
      {"sbatch-tasks", "#SBATCH --gpus-per-task=8\n", "", 3},
      {"sbatch-tasks", "#SBATCH --ntasks-per-node=8\n", "srun torchrun x.py\n", 5},
      {"sbatch-tasks", "", "srun torchrun --nnodes=4 x.py\n", 4},
      // One rank for all.
      {"sbatch-rank-scope", "", "srun accelerate launch --machine_rank $SLURM_PROCID x.py\n", 4},
      {"sbatch-rank-scope", "", "srun accelerate launch --machine_rank=0 x.py\n", 4},
      {"sbatch-rank-scope", "", "srun bash -c \"echo $SLURM_NODEID\"\n", 4},
      {"sbatch-auto-resume", "", "srun --auto-resume=1 true\n", 4},
      {"sbatch-brace", "", "IMAGE=name:{TAG}\n", 4},
      {"sbatch-brace", "", "mkdir -p \"$PWD\"/a}\n", 4},
      {"sbatch-pin", "#SBATCH --partition=p5en\n", "", 3},
      {"sbatch-pin", "#SBATCH --account=root\n", "", 3},
      // What ties it to one site.
      {"sbatch-secret", "", "export HF_TOKEN=hf_abcdefghijklmnopqrst\n", 4},
      {"sbatch-site-path", "", "cd /fsx/ubuntu/repo\n", 4},
      {"sbatch-site-path", "", "ls /apps/models\n", 4},
      {"sbatch-numbered-path", "", "cd repo/3.test_cases/x\n", 4},
      {"sbatch-numbered-path", "", "cd repo/18.deepspeed/\n", 4},
      {"sbatch-identity", "", "aws s3 cp s3://somebodys-data/x .\n", 4},
      {"sbatch-identity", "", "I=210987654329.dkr.ecr.$HOME.amazonaws.com/x:1\n", 4},
      {"sbatch-region", "", "I=x.dkr.ecr.us-east-2.amazonaws.com/x:1\n", 4},
  };
  for (const Defect& defect : all) {
    const std::string text = script(defect.directives, defect.body);
    SCOPED_TRACE(text);
    const Findings findings = check(text, "/p/test_cases/a/slurm/job.sbatch");
    EXPECT_EQ(findings.size(), 1u);
    if (findings.empty()) continue;
    EXPECT_EQ(findings[0].rule, defect.rule) << to_string(findings[0]);
    EXPECT_EQ(findings[0].where.line, defect.line) << to_string(findings[0]);
    EXPECT_EQ(findings[0].severity, Severity::kError);
  }
}

TEST(Sbatch, AScriptThatIsRightPasses) {
  const std::string text = R"sh(#!/bin/bash
#SBATCH --nodes=4 # a comment
#SBATCH --job-name="my job"
#SBATCH -o %x_%j.out --exclusive
##SBATCH --partition=switched-off
#SBATCH --wait-all-nodes=1

set -euo pipefail
: "${IMAGE:?an image}"
AUTO=()
if [ -d /opt/sagemaker_cluster ]; then AUTO=(--auto-resume=1); fi
ARGS=(--container-image "$IMAGE" --container-mounts "/fsx:/fsx,$PWD:/work")
export NCCL_SOCKET_IFNAME="^docker,lo,veth" NCCL_DEBUG=WARN
export HF_TOKEN="$(cat "$HOME/token")" OTHER_TOKEN="$IMAGE"
echo "$0" '{TAG}' a{1,2}
srun --mpi="$IMAGE" "--$IMAGE" true
for attempt in $(seq 60); do [ -f ready ] && break; sleep 1; done
tries=0
until [ -f other ]; do tries=$((tries + 1)); [ "$tries" -lt 9 ] || exit 1; sleep 1; done
while read -r line; do echo "$line"; done < "$IMAGE"
[[ -f a && ( $HOME == b || 1 < 2 ) ]] || exit 1
f() { local x=$1; echo "$x"; }
function g { echo "$(f "a b")" "`f c`" $(( tries << 2 )); }
case "$IMAGE" in
  a|b) g ;;
  (*) f "${1:-none}" ;;
esac
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
cat > hostfile <<'EOF'
$NOT_A_VARIABLE
EOF
srun "${AUTO[@]}" -l -K1 "${ARGS[@]}" bash -c 'exec torchrun --node_rank="$SLURM_NODEID" x.py' -- \
  "${nodes[0]}" "$SLURM_JOB_ID"
)sh";
  EXPECT_EQ(testing::text_of_findings(check(text)), "");
  // Its directives and its body were read to the end: each fault more is all that is found.
  const auto lines = std::count(text.begin(), text.end(), '\n');
  const Findings last = check(text + "srun --ntaks=2 true\n");
  ASSERT_EQ(last.size(), 1u) << testing::text_of_findings(last);
  EXPECT_EQ(last[0].rule, "sbatch-option");
  EXPECT_EQ(last[0].where.line, lines + 1);
  std::string damaged = text;
  damaged.replace(damaged.find("--wait-all-nodes"), 6, "--wiat");
  const Findings directive = check(damaged);
  ASSERT_EQ(directive.size(), 1u) << testing::text_of_findings(directive);
  EXPECT_EQ(directive[0].rule, "sbatch-option");
  EXPECT_EQ(directive[0].where.line, 6);
}

TEST(Sbatch, WhatIsNeverClosedIsAWarning) {
  const Findings findings = check(script("", "echo \"never closed\n"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "sbatch-syntax");
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
}

TEST(Sbatch, HintsNameWhatWasMeant) {
  const auto hint = [](const std::string& directives, const std::string& body) {
    const Findings findings = check(script(directives, body));
    return findings.size() == 1 ? findings[0].hint : std::string("not one finding");
  };
  EXPECT_EQ(hint("#SBATCH --outptu=x\n", ""), "did you mean --output?");
  EXPECT_EQ(hint("#SBATCH --mpi=pmix\n", ""), "an option of srun, not of sbatch");
  EXPECT_EQ(hint("", "echo $SLURM_JOB_NUM_NODE\n"), "did you mean $SLURM_JOB_NUM_NODES?");
  EXPECT_EQ(hint("", "srun --mpi=pmix2 true\n"), "did you mean pmi2?");
}

TEST(Sbatch, ALogDirectoryThatIsThereIsFine) {
  MemoryFileSystem files;
  ASSERT_TRUE(files.write("/p/logs/.keep", "").ok());
  const std::string text = script("#SBATCH --output=logs/%j.out\n", "");
  EXPECT_TRUE(check(text, "/p/job.sbatch", &files).empty());
  EXPECT_EQ(check(text, "/p/sub/job.sbatch", &files).size(), 1u);
}

TEST(Sbatch, InterpreterAndLineEnds) {
  EXPECT_EQ(check("#SBATCH --nodes=1\ntrue\n")[0].rule, "sbatch-interpreter");
  const Findings dos = check("#!/bin/bash\r\n#SBATCH --nodes=1\r\ntrue\r\n");
  ASSERT_EQ(dos.size(), 1u);
  EXPECT_EQ(dos[0].rule, "sbatch-interpreter");
}

TEST(Sbatch, APinOutsideOfTheCatalogIsAWarning) {
  const Findings findings = check(script("#SBATCH -p gpu\n", ""), "/elsewhere/job.sbatch");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
}

TEST(Sbatch, ASourcedFileMaySetVariables) {
  const Findings findings = check(script("", "source env.sh\necho $MODEL\n"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
}

TEST(Sbatch, WithoutTheTableItSaysSo) {
  bool unreadable = false;
  const Findings findings = kSbatchChecker.check(
      {"/p/job.sbatch", "/p", script("#SBATCH --bogus\n", "echo $SLURM_X\n")}, {}, unreadable);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "sbatch-unchecked");
}

TEST(Sbatch, ClaimsBatchScriptsOnly) {
  const auto claims = [](const char* path, const char* text) {
    return kSbatchChecker.claims({path, "/p", text});
  };
  EXPECT_TRUE(claims("a.sbatch", ""));
  EXPECT_TRUE(claims("a.slurm", ""));
  EXPECT_TRUE(claims("a.sh", "#!/bin/bash\n#SBATCH -N1\n"));
  EXPECT_FALSE(claims("a.sh", "#!/bin/bash\necho '#SBATCH'\n"));
  EXPECT_FALSE(claims("a.md", "#SBATCH -N1\n"));
}

TEST(ShellScript, WordsKeepTheirPlacesAndQuotes) {
  const std::string text = "A=1 b  'c d'\"$E\"f > out # no\n";
  const ShellScript shell = parse_shell(text);
  ASSERT_EQ(shell.commands.size(), 1u);
  const ShellCommand& command = shell.commands[0];
  ASSERT_EQ(command.words.size(), 2u);
  EXPECT_EQ(command.words[1].text, "c d$Ef");
  EXPECT_EQ(text.substr(command.words[1].at, command.words[1].raw.size()), "'c d'\"$E\"f");
  ASSERT_EQ(command.redirections.size(), 1u);
  EXPECT_EQ(command.redirections[0].target.text, "out");
  ASSERT_EQ(shell.expansions.size(), 1u);
  EXPECT_EQ(shell.expansions[0].name, "E");
  EXPECT_TRUE(shell.complete);
}

TEST(ShellScript, WhatIsNeverClosedIsNotComplete) {
  for (const char* text : {"echo 'a", "echo \"a", "echo $(a", "echo ${a", "cat <<EOF\nx\n", "a=(b",
                           "[[ a", "echo `a", "(( a"}) {
    EXPECT_FALSE(parse_shell(text).complete) << text;
  }
}

TEST(ShellScript, NestedCommandsAreFound) {
  const ShellScript shell = parse_shell("a \"$(b $(c))\" <(d) `e`\n(f; g) | h\n");
  std::string names;
  for (const ShellCommand& command : shell.commands) {
    if (!command.words.empty()) names += command.words[0].text;
  }
  EXPECT_EQ(names, "abcdefgh");
}

}  // namespace
}  // namespace muster::lint
