// The mini-cases: what real repositories hold, in miniature, each with its right answer.
#include <algorithm>

#include <gtest/gtest.h>

#include "case.h"

namespace muster::reorg::testing {
namespace {

TEST(MiniCases, C1DepthOfALinkChanges) {
  const std::string readme = "3.cases/torch/fsdp/README.md";
  Case c({{readme, "![a](../../../0.docs/i.png) [b](../ddp/README.md) [c](./slurm/run.sh)"},
          {"3.cases/torch/ddp/README.md", ""},
          {"3.cases/torch/fsdp/slurm/run.sh", ""},
          {"0.docs/i.png", "png"}},
         "3.cases -> cases/training; 0.docs -> docs");
  c.run();
  EXPECT_EQ(c.after["cases/training/torch/fsdp/README.md"],
            "![a](../../../../docs/i.png) [b](../ddp/README.md) [c](./slurm/run.sh)");
  EXPECT_EQ(c.rewriting.edits.size(), 1U);
}

TEST(MiniCases, C2InsideAMovedDirectory) {
  Case c({{"1.arch/4.eks/docs/a.md",
           "[m](../m/x.yaml) [s](./b.md) [o](../../4.eks/m/x.yaml) [r](../../../README.md)"},
          {"1.arch/4.eks/m/x.yaml", ""},
          {"1.arch/4.eks/docs/b.md", ""},
          {"1.arch/4.eks/main.tf", "source = \"../4.eks/m\""},
          {"README.md", ""}},
         "1.arch/4.eks -> arch/eks");
  c.run();
  EXPECT_EQ(c.after["arch/eks/docs/a.md"],
            "[m](../m/x.yaml) [s](./b.md) [o](../../eks/m/x.yaml) [r](../../../README.md)");
  EXPECT_EQ(c.after["arch/eks/main.tf"], "source = \"../eks/m\"");
}

TEST(MiniCases, C3ShapeIsKept) {
  Case c({{"1.arch/3.batch/README.md",
           "[v](../../1.arch/1.vpc/one.yaml) [w](../1.vpc/one.yaml) [d](../1.vpc/) "
           "[f](../1.vpc/README.md#deploy \"how\")"},
          {"1.arch/1.vpc/one.yaml", ""},
          {"1.arch/1.vpc/README.md", "# Deploy\n"}},
         "1.arch -> arch; 1.arch/3.batch -> arch/batch; 1.arch/1.vpc -> arch/vpc");
  c.run();
  EXPECT_EQ(c.after["arch/batch/README.md"],
            "[v](../../arch/vpc/one.yaml) [w](../vpc/one.yaml) [d](../vpc/) "
            "[f](../vpc/README.md#deploy \"how\")");
}

TEST(MiniCases, C4RootAbsoluteHtmlAndLfs) {
  Case c({{".gitattributes", "*.gif filter=lfs\n"},
          {"1.arch/p/a.gif", "version https://git-lfs.github.com/spec/v1\n"},
          {"1.arch/p/README.md",
           "![g](/1.arch/p/a.gif) <img src='../../0.docs/b.png' width=\"80\"> <a "
           "href=\"/1.arch/\">x</a>"},
          {"0.docs/b.png", "png"}},
         "1.arch -> arch; 0.docs -> docs");
  c.run();
  EXPECT_EQ(c.after["arch/p/README.md"],
            "![g](/arch/p/a.gif) <img src='../../docs/b.png' width=\"80\"> <a "
            "href=\"/arch/\">x</a>");
  EXPECT_EQ(c.after["arch/p/a.gif"], "version https://git-lfs.github.com/spec/v1\n");
}

TEST(MiniCases, C5UrlsAndRefs) {
  const std::string hub = "https://github.com/";
  const std::string kept =
      hub + "acme/widgets/tree/v1/1.arch\n" + hub +
      "acme/widgets/blob/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567/1.arch/a.sh\n" + hub +
      "acme/widgets/blob/feature/x/1.arch/a.sh\n" + hub + "acme/widgets/tree/1.arch/a.sh\n" + hub +
      "zed/widgets/blob/main/1.arch/a.sh\n" + "https://widgets.s3.amazonaws.com/1.arch/a.sh\n";
  Case c({{"u.md", hub + "acme/widgets/blob/main/1.arch/a.sh#L10-L12\n" +
                       "https://raw.githubusercontent.com/old/wid/refs/heads/main/1.arch/a.sh\n" +
                       "(see " + hub + "acme/widgets/tree/main/1.arch).\n" + kept},
          {"1.arch/a.sh", ""}},
         "1.arch -> arch");
  c.run();
  EXPECT_EQ(c.after["u.md"],
            hub + "acme/widgets/blob/main/arch/a.sh#L10-L12\n" +
                "https://raw.githubusercontent.com/old/wid/refs/heads/main/arch/a.sh\n" + "(see " +
                hub + "acme/widgets/tree/main/arch).\n" + kept);
  ASSERT_EQ(c.rewriting.unclear.size(), 1U);
  EXPECT_EQ(c.rewriting.unclear.front().line, 7);
  EXPECT_EQ(c.rewriting.pinned.size(), 3U);
}

TEST(MiniCases, C6LinkTextHeadingsTablesDiagrams) {
  Case c({{"README.md",
           "## 1.arch\n[up](#1arch)\n\n| a |\n|---|\n| [`0.common`](./1.arch/0.common) |\n\n```\n"
           "├── 1.arch/        # A\n│   └── 5.pod/     # B\n└── tools/         # C\n```\n"},
          {"d.md", "[y](README.md#1arch)"},
          {"1.arch/0.common/x", ""},
          {"1.arch/5.pod/x", ""},
          {"tools/x", ""}},
         "1.arch -> arch; 1.arch/0.common -> arch/common; 1.arch/5.pod -> arch/pod-slurm");
  c.run();
  EXPECT_EQ(c.after["README.md"],
            "## arch\n[up](#arch)\n\n| a |\n|---|\n| [`common`](./arch/common) |\n\n```\n"
            "├── arch/          # A\n│   └── pod-slurm/ # B\n└── tools/         # C\n```\n");
  EXPECT_EQ(c.after["d.md"], "[y](README.md#arch)");
}

TEST(MiniCases, C7Lookalikes) {
  Case c({{"t.md",
           "1. arch your back. v1.2.0, us-west-2.amazonaws.com, x1.arch/, 1.archive/, 11.arch/, "
           "https://b.s3.amazonaws.com/t/2.vpc.yaml, https://doc.example/1.arch/g, "
           "architectures=[\"X\"], 2. Setup the box"},
          {"1.arch/2.vpc/f", ""},
          {"2. Setup Box/f", ""}},
         "1.arch -> arch; 1.arch/2.vpc -> arch/vpc; 2. Setup Box -> Setup Box");
  c.run();
  EXPECT_TRUE(c.rewriting.edits.empty());
  EXPECT_TRUE(c.rewriting.proposals.empty());
}

TEST(MiniCases, C8Workflows) {
  const std::string workflow =
      "on:\n  push:\n    paths: ['3.cases/torch/**', '!3.cases/torch/**/*.md', 'arch/**']\n"
      "env:\n  D: \"${{ env.R }}/3.cases/torch/fsdp\"\njobs:\n  a:\n    defaults:\n      run:\n"
      "        working-directory: 3.cases/torch\n    steps:\n"
      "      - key: ${{ hashFiles('3.cases/**/req.txt') }}\n"
      "      - run: diff -u tools/a.sh 3.cases/torch/a.sh\n";
  Case c({{".github/workflows/w.yml", workflow},
          {"3.cases/torch/fsdp/x", ""},
          {"3.cases/torch/a.sh", ""},
          {"tools/a.sh", ""},
          {"arch/pcs/t.yaml", ""},
          {"1.arch/e/u.yaml", ""}},
         "3.cases -> cases/training; 1.arch -> arch");
  c.run();
  std::string wanted = workflow;
  for (std::size_t at = wanted.find("3.cases"); at != std::string::npos;
       at = wanted.find("3.cases"))
    wanted.replace(at, 7, "cases/training");
  EXPECT_EQ(c.after[".github/workflows/w.yml"], wanted);
  EXPECT_EQ(c.rewriting.edits.size(), 6U);
  EXPECT_NE(c.said().find("WIDENED 'arch/**': 1 -> 2 files"), std::string::npos) << c.said();
}

// Commands of a workflow run where it says; what they climb out of may get deeper.
TEST(MiniCases, C8CommandsOfAWorkflowRunInItsWorkingDirectory) {
  const Texts files = {
      {"3.cases/torch/a.py", ""},
      {"deploy.sh", ""},
      {"0.docs/x", ""},
      {".github/workflows/one.yml",
       "jobs:\n  - working-directory: 3.cases/torch\n    run: |\n"
       "      bash ../../deploy.sh\n      cat ../../0.docs/x\n"},
      {".github/workflows/two.yml",
       "jobs:\n  - working-directory: 3.cases/torch\n    run: bash ../../deploy.sh\n"
       "  - working-directory: 0.docs\n    run: cat ../deploy.sh\n"}};
  Case c(files, "3.cases -> cases/training; 0.docs -> docs");
  c.run();
  EXPECT_EQ(c.after[".github/workflows/one.yml"],
            "jobs:\n  - working-directory: cases/training/torch\n    run: |\n"
            "      bash ../../../deploy.sh\n      cat ../../../docs/x\n");
  EXPECT_EQ(c.after[".github/workflows/two.yml"],
            "jobs:\n  - working-directory: cases/training/torch\n    run: bash ../../deploy.sh\n"
            "  - working-directory: docs\n    run: cat ../deploy.sh\n");
  ASSERT_EQ(c.rewriting.proposals.size(), 1U);
  EXPECT_EQ(*c.rewriting.proposals[0].reference.replacement, "../../../deploy.sh");
}

TEST(MiniCases, DiagramsHoldNamesWithSpaces) {
  const Texts files = {
      {"1.arch/2. Set Up/run.sh", ""},
      {"README.md", "```\n.\n├── 1.arch/        # A\n│   └── 2. Set Up/ # B\n```\n"}};
  Case c(files, "1.arch -> arch; 1.arch/2. Set Up -> arch/set-up");
  c.run();
  EXPECT_EQ(c.after["README.md"], "```\n.\n├── arch/          # A\n│   └── set-up/    # B\n```\n");
}

TEST(MiniCases, C9OwnersAndIgnore) {
  Case c({{".gitignore", "lib/\n!4.val/2.gpu/lib/\ndocs/_build/\n"},
          {"4.val/2.gpu/lib/x.sh", ""},
          {"0.docs/_build/k.png", ""},
          {"1.arch/5.pod/base/f", ""},
          {"1.arch/g", ""},
          {"CODEOWNERS", "*.md @d\n/1.arch/5.pod/base     @t\n1.arch/ @all\n"}},
         "4.val/2.gpu -> val/gpu; 0.docs -> docs; 1.arch/5.pod -> arch/pod-slurm; 1.arch -> arch");
  c.run();
  EXPECT_EQ(c.after[".gitignore"], "lib/\n!val/gpu/lib/\ndocs/_build/\n");
  EXPECT_EQ(c.after["CODEOWNERS"], "*.md @d\n/arch/pod-slurm/base     @t\narch/ @all\n");
  EXPECT_NE(c.said().find("NEWLY-IGNORED docs/_build/k.png"), std::string::npos) << c.said();
  EXPECT_EQ(c.said().find("OWNERS"), std::string::npos) << c.said();
  EXPECT_EQ(c.after.count("docs/_build/k.png"), 1U);
}

TEST(MiniCases, C10PrefixesGrowthAndSecondRun) {
  const std::string moves =
      "0.common -> common; 10.common -> common10; 5.pod -> pod-slurm; 5.pod-eks -> pod-eks; "
      "tools/pod -> tools/pod/v2";
  Case c({{"n.md", "10.common/a 0.common/a 5.pod-eks/x 5.pod/x tools/pod/run.sh"},
          {"0.common/a", ""},
          {"10.common/a", "1"},
          {"5.pod/x", "2"},
          {"5.pod-eks/x", "3"},
          {"tools/pod/run.sh", "4"}},
         moves);
  c.run();
  EXPECT_EQ(c.after["n.md"], "common10/a common/a pod-eks/x pod-slurm/x tools/pod/v2/run.sh");
  Case again(c.after, moves);
  again.origins = c.next_origins();
  again.run();
  EXPECT_EQ(again.after, c.after);
  EXPECT_TRUE(again.rewriting.edits.empty());
}

TEST(MiniCases, C11Symlinks) {
  Case c({{"b/y/s.py", "symlink:../../a/x/s.py"},
          {"b/y/in.py", "symlink:./real.py"},
          {"b/y/out", "symlink:/etc/hosts"},
          {"b/y/dead", "symlink:../gone"},
          {"a/x/s.py", ""},
          {"b/y/real.py", "1"}},
         "a -> lib/a; b/y -> y");
  c.run();
  EXPECT_EQ(c.after["y/s.py"], "symlink:../lib/a/x/s.py");
  EXPECT_EQ(c.after["y/in.py"], "symlink:./real.py");
  EXPECT_EQ(c.after["y/out"], "symlink:/etc/hosts");
  EXPECT_EQ(c.after["y/dead"], "symlink:../gone");
  ASSERT_EQ(c.rewriting.dead.size(), 1U);
  EXPECT_EQ(c.rewriting.dead.front().path, "b/y/dead");
}

TEST(MiniCases, C12Shell) {
  Case c(
      {{"3.cases/torch/bench/run.sh",
        "SELF=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nROOT=\"$(cd \"${SELF}/../../..\" && pwd)\"\n"
        "cp \"${ROOT}/3.cases/torch/a.py\" /tmp\nU=\"${SELF}/../../util\"\n"
        "f=file://widgets/1.arch/p.json${NC}\n"
        "PATH=/fsx/widgets/3.cases/torch/env/bin:$PATH\n"},
       {"3.cases/torch/a.py", ""},
       {"3.cases/torch/run.sh", ""},
       {"1.arch/p.json", "{}"},
       {"g.md",
        "```\ngit clone https://github.com/acme/widgets.git\ncd widgets/3.cases/torch\nbash "
        "run.sh\ncd ../../..\n```\n"}},
      "3.cases -> cases/training; 1.arch -> arch");
  c.run();
  EXPECT_EQ(c.after["cases/training/torch/bench/run.sh"],
            "SELF=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nROOT=\"$(cd \"${SELF}/../../../..\" && "
            "pwd)\"\ncp \"${ROOT}/cases/training/torch/a.py\" /tmp\nU=\"${SELF}/../../util\"\n"
            "f=file://widgets/arch/p.json${NC}\n"
            "PATH=/fsx/widgets/cases/training/torch/env/bin:$PATH\n");
  EXPECT_EQ(c.after["g.md"],
            "```\ngit clone https://github.com/acme/widgets.git\ncd widgets/cases/training/torch\n"
            "bash run.sh\ncd ../../../..\n```\n");
}

TEST(MiniCases, C13DeadAndForwardReferences) {
  Case c({{"a/r.md",
           "[n](../3.cases/2.nemo) [e](../../1.arch) "
           "[f](https://github.com/acme/widgets/blob/main/arch/e.md) [g](gone.md)"},
          {"1.arch/e.md", ""},
          {"3.cases/mega/nemo/r.sh", ""}},
         "1.arch -> arch; 3.cases -> cases");
  c.run();
  EXPECT_TRUE(c.rewriting.edits.empty());
  EXPECT_EQ(c.rewriting.dead.size(), 3U);
  ASSERT_EQ(c.rewriting.healed.size(), 1U);
  EXPECT_EQ(c.rewriting.healed.front().reference.target, "arch/e.md");
}

TEST(MiniCases, C14ADirectoryIsSplit) {
  Case c({{"3.cases/fsdp/Dockerfile", ""},
          {"3.cases/vllm/Dockerfile", "1"},
          {"README.md", "[all](3.cases/) see `3.cases/`"},
          {"w.yml", "paths: ['3.cases/**', '3.cases/*/Dockerfile']\n"},
          {"CODEOWNERS", "/3.cases/ @t\n"}},
         "3.cases/fsdp -> cases/training/fsdp; 3.cases/vllm -> cases/inference/vllm");
  c.run();
  EXPECT_EQ(c.after["README.md"], "[all](cases/) see `cases/`");
  EXPECT_EQ(c.after["w.yml"],
            "paths: ['cases/**', 'cases/training/*/Dockerfile', 'cases/inference/*/Dockerfile']\n");
  EXPECT_EQ(c.after["CODEOWNERS"], "/cases/ @t\n");
  for (const Placed& edit : c.rewriting.edits)
    EXPECT_NE(edit.reference.reason.find("SPLIT"), std::string::npos) << edit.reference.text;
}

std::string merging(const std::string& rules, const std::string& others) {
  return std::string(kHead) + "repository: {name: acme/widgets}\n" +
         (rules.empty() ? "" : "rules:\n" + rules_text(rules)) +
         "merge:\n  - name: acme/serve\n    from: serve\n" +
         (others.empty() ? "" : "    rules:\n" + rules_text(others, "      "));
}

TEST(MiniCases, C15SecondRepositoryReferences) {
  Case c(merging("",
                 "1.infra -> arch/infra; 2.proj -> cases/inference; "
                 "2.proj/trt/2. Setup Box -> cases/inference/trt/Setup Box"),
         {{{"t.md", "[t](https://github.com/acme/serve/tree/main/2.proj/trt)"}},
          {{"2.proj/trt/README.md",
            "[i](/1.infra/README.md) "
            "[n](https://github.com/acme/serve/blob/main/2.proj/nim/README.md#x)"},
           {"2.proj/trt/2. Setup Box/Dockerfile", ""},
           {"2.proj/nim/README.md", "# X\n"},
           {"1.infra/README.md", ""},
           {"1.infra/c.yaml",
            "git clone https://github.com/acme/serve.git /home/u/s\ncp "
            "/home/u/s/2.proj/trt/2.\\ Setup\\ Box/Dockerfile .\n"}}});
  c.run();
  EXPECT_EQ(c.after["cases/inference/trt/README.md"],
            "[i](/arch/infra/README.md) "
            "[n](https://github.com/acme/widgets/blob/main/cases/inference/nim/README.md#x)");
  EXPECT_EQ(c.after["arch/infra/c.yaml"],
            "git clone https://github.com/acme/widgets.git /home/u/s\ncp "
            "/home/u/s/cases/inference/trt/Setup\\ Box/Dockerfile .\n");
  EXPECT_EQ(c.after["t.md"], "[t](https://github.com/acme/widgets/tree/main/cases/inference/trt)");
}

TEST(MiniCases, C15CloneAndPathsChangeTogetherOrNotAtAll) {
  Case c(merging("", "2.proj -> cases"),
         {{{"t.md", ""}},
          {{"2.proj/f", ""},
           {"c.yaml",
            "git clone https://github.com/acme/serve.git /home/u/s\ncp /home/u/s/2.proj/f .\ncp "
            "/home/u/s/made/later .\n"}}});
  c.run();
  EXPECT_EQ(c.after["c.yaml"],
            "git clone https://github.com/acme/serve.git /home/u/s\ncp /home/u/s/2.proj/f .\ncp "
            "/home/u/s/made/later .\n");
  EXPECT_GE(c.rewriting.proposals.size(), 2U);
}

TEST(MiniCases, C16ForeignRulesAndCollisions) {
  const Texts target = {{".gitignore", "*.ipynb\n"},
                        {".gitattributes", "*.gif filter=lfs\n"},
                        {"README.md", "target"},
                        {"LICENSE", "text 1"},
                        {"COC.md", "same"},
                        {"Foo/x", "1"},
                        {"a", "2"}};
  const Texts source = {{"nb.ipynb", "{}"},    {"b.gif", "GIF"},   {"README.md", "source"},
                        {"LICENSE", "text 2"}, {"COC.md", "same"}, {"foo/x", "3"},
                        {"a/b", "4"}};
  Case c(merging("", ""), {target, source});
  c.run();
  EXPECT_TRUE(c.moves.collided);
  for (const char* said : {"COLLISION README.md", "COLLISION LICENSE", "SAME COC.md",
                           "CASE Foo foo", "DIR-FILE a", "NEWLY-IGNORED nb.ipynb", "ATTR b.gif"}) {
    EXPECT_NE(c.said().find(said), std::string::npos) << said << "\n" << c.said();
  }
  Case free(
      merging("", "README.md -> in/README.md; LICENSE -> in/LICENSE; foo -> in/foo; a -> in/a") +
          "      - {drop: COC.md}\n",
      {target, source});
  free.run();
  EXPECT_FALSE(free.moves.collided) << free.said();
  EXPECT_EQ(free.after.count("nb.ipynb"), 1U);
  EXPECT_EQ(free.after["b.gif"], "GIF");
}

TEST(MiniCases, C17Bytes) {
  const std::string notebook =
      "{\n \"a\": \"\\u2019 \\\"q\\\"\",\n \"source\": [\n  \"see [o](/2.p/out/x.json)\"\n ]\n}";
  Case c({{"2.p/n(M).ipynb", notebook},
          {"2.p/c.yaml", "a: 1\r\n# see 2.p/out/x.json\r\n"},
          {".gitattributes", "* text=auto\n"},
          {"2.p/b.md", "\xef\xbb\xbf[o](/2.p/out/x.json)\n"},
          {"2.p/l.txt", "caf\xe9 2.p/out/x.json\n"},
          {"2.p/out/x.json", "{}"}},
         "2.p -> cases/p");
  c.run();
  std::string wanted = notebook;
  wanted.replace(wanted.find("/2.p/"), 5, "/cases/p/");
  EXPECT_EQ(c.after["cases/p/n(M).ipynb"], wanted);
  EXPECT_EQ(c.after["cases/p/c.yaml"], "a: 1\r\n# see cases/p/out/x.json\r\n");
  EXPECT_EQ(c.after["cases/p/b.md"], "\xef\xbb\xbf[o](/cases/p/out/x.json)\n");
  EXPECT_EQ(c.after["cases/p/l.txt"], "caf\xe9 cases/p/out/x.json\n");
}

TEST(MiniCases, PythonIsProposed) {
  Case c({{"old/tool/run.py",
           "from old.util.names import x\nimport os.path\n"
           "ROOT = Path(__file__).resolve().parents[2]\n"},
          {"old/util/names.py", ""}},
         "old/util -> lib/util; old/tool -> lib/tools/tool");
  c.run();
  EXPECT_TRUE(c.rewriting.edits.empty());
  ASSERT_EQ(c.rewriting.proposals.size(), 2U);
  EXPECT_EQ(c.rewriting.proposals[0].reference.replacement, "lib.util.names");
  EXPECT_EQ(c.rewriting.proposals[1].reference.replacement, "3");
}

}  // namespace
}  // namespace muster::reorg::testing
