// Dockerfiles: each defect once, in a file that is right otherwise.
#include "lint/dockerfile.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "findings_text.h"
#include "lint/lint.h"
#include "testing.h"

namespace muster::lint {
namespace {

facts::Facts docker_facts() {
  facts::Facts facts;
  facts.floors = {{"efa", "1.47.0"}, {"nccl", "2.28"}, {"cuda", "13.0"}};
  const auto text = real_file_system().read(std::filesystem::path(testing::source_dir()) /
                                            "facts/end-of-life.yaml");
  if (!text) throw std::runtime_error("facts/end-of-life.yaml can't be read");
  const auto old = facts::parse_end_of_life(*text, "end-of-life.yaml");
  if (!old) throw std::runtime_error("facts/end-of-life.yaml is not valid");
  facts.end_of_life = *old;
  return facts;
}

class Docker : public ::testing::Test {
 protected:
  Docker() {
    for (const char* file : {"/p/c/src/train.py", "/p/c/requirements.txt", "/p/up.txt"})
      EXPECT_TRUE(files_.write(file, "").ok());
  }
  Findings check(const std::string& text) {
    static const facts::Facts kKnown = docker_facts();
    bool unreadable = false;
    Findings findings =
        kDockerfileChecker.check({"/p/c/Dockerfile", "/p", text, &files_}, kKnown, unreadable);
    EXPECT_FALSE(unreadable) << "no rule was applied";
    return findings;
  }
  MemoryFileSystem files_;
};

struct Defect {
  const char* rule;
  const char* text;
  int line;
};

TEST_F(Docker, EachRuleFindsItsDefect) {
  const std::vector<Defect> all = {
      {"docker-floating", "FROM nccl-tests:latest\n", 1},
      {"docker-floating", "FROM nvidia/cuda\n", 1},
      {"docker-floating", "FROM foundry:2.7.0_aws-latest\n", 1},
      {"docker-floating", "FROM x:1\nARG NCCL_TESTS_VERSION=master\n", 2},
      {"docker-floating", "FROM x:1\nENV UCX_VERSION=v1.20.x\n", 2},
      {"docker-unset", "FROM x:${TAG}\n", 1},
      {"docker-clone", "FROM x:1\nRUN git clone https://github.com/NVIDIA/nccl-tests.git\n", 2},
      {"docker-clone", "FROM x:1\nRUN git clone -b main https://github.com/a/b\n", 2},
      {"docker-clone",
       "FROM x:1\nRUN apt-get update \\\n # why\n && git clone https://github.com/a/b c\n", 4},
      {"docker-pip", "FROM x:1\nRUN pip install numpy\n", 2},
      {"docker-pip", "FROM x:1\nRUN python -m pip install --upgrade 'trl[vllm]'\n", 2},
      {"docker-pip", "FROM x:1\nRUN pip install 'torch>=2.7'\n", 2},
      {"docker-pip", "FROM x:1\nRUN [\"pip\", \"install\", \"numpy\"]\n", 2},
      {"docker-pip", "FROM x:1\nRUN <<EOF\nset -e\npip install numpy\nEOF\n", 4},
      {"docker-apt-key", "FROM x:1\nRUN apt-key del 7fa2af80\n", 2},
      {"docker-apt-key", "FROM x:1\nRUN curl https://a/b | apt-key add -\n", 2},
      {"docker-floor", "FROM x:1\nARG EFA_INSTALLER_VERSION=1.43.2\n", 2},
      {"docker-floor", "FROM x:1\nENV NCCL_VERSION=v2.27.7-1\n", 2},
      {"docker-floor", "FROM nvidia/cuda:12.2.2-devel-ubuntu22.04\n", 1},
      {"docker-floor", "FROM r/pytorch-training:2.8.0-gpu-py312-cu129-ubuntu22.04\n", 1},
      {"docker-floor", "FROM nvcr.io/nvidia/pytorch:25.04-py3\n", 1},
      {"docker-tag",
       "FROM x:1\nARG NCCL_VERSION=v2.28.3-1\nRUN git clone -b v${NCCL_VERSION} https://a/b\n", 3},
      {"docker-secret", "FROM x:1\nENV HF_TOKEN=hf_abcdefghijklmnopqrst\n", 2},
      {"docker-secret", "FROM x:1\nARG HF_TOKEN\n", 2},
      {"docker-secret", "FROM x:1\nRUN git clone -b v1 https://user:$PASS@host/r\n", 2},
      {"docker-context", "FROM x:1\nCOPY missing.txt /x\n", 2},
      {"docker-context", "FROM x:1\nCOPY ../up.txt /x\n", 2},
      {"docker-context", "FROM x:1\nCOPY [\"src/*.cpp\", \"/x/\"]\n", 2},
      {"docker-add-url", "FROM x:1\nADD https://host/file.tgz /x\n", 2},
      {"docker-ssh-key", "FROM x:1\nRUN ssh-keygen -t rsa -f /root/.ssh/id_rsa -N \"\"\n", 2},
      {"docker-end-of-life", "FROM ubuntu:20.04\n", 1},
      {"docker-end-of-life", "FROM nvidia/cuda:13.0.2-devel-ubuntu20.04\n", 1},
      {"docker-end-of-life", "FROM python:3.9-slim\n", 1},
      {"docker-end-of-life", "FROM rayproject/ray-ml:2.9.0\n", 1},
      {"docker-end-of-life", "FROM k8s.gcr.io/pause:3.9\n", 1},
      {"docker-site-path", "FROM x:1\nENV HF_HOME=/fsx/ubuntu/hf\n", 2},
      {"docker-identity", "FROM 210987654329.dkr.ecr.x/y:1\n", 1},
      {"docker-region", "FROM x.dkr.ecr.us-east-1.amazonaws.com/y:1\n", 1},
      {"docker-syntax", "FROM x:1\nRUNN true\n", 2},
      {"docker-syntax", "FROM x:1 y\n", 1},
      {"docker-syntax", "FROM x:1\nFROM\n", 2},
      {"docker-syntax", "RUN true\nFROM x:1\n", 1},
      {"docker-syntax", "FROM x:1\nENV A\n", 2},
      {"docker-syntax", "FROM x:1\nCOPY src/train.py\n", 2},
      {"docker-ssh-key", "FROM x:1\nCOPY id_rsa /root/.ssh/\n", 2},
      {"docker-secret", "FROM x:1\nRUN login hf_abcdefghijklmnopqrst\n", 2},
      {"docker-syntax", "FROM x:1\nRUN <<EOF\ntrue\n", 2},
  };
  for (const Defect& defect : all) {
    SCOPED_TRACE(defect.text);
    const Findings findings = check(defect.text);
    ASSERT_GE(findings.size(), 1u);
    for (const Finding& finding : findings) {
      EXPECT_EQ(finding.rule, defect.rule) << to_string(finding);
      EXPECT_EQ(finding.where.line, defect.line) << to_string(finding);
    }
    EXPECT_EQ(findings.size(), 1u);
  }
}

// The unquoted comparison is a redirection, and the package has no version then.
TEST_F(Docker, AnUnquotedComparisonIsARedirection) {
  const Findings findings = check("FROM x:1\nRUN pip install transformers>=4.45\n");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "docker-pip");
  EXPECT_EQ(findings[1].rule, "docker-redirect");
}

TEST_F(Docker, AFileThatIsRightPasses) {
  const std::string text = R"(# syntax=docker/dockerfile:1.7
ARG CUDA_VERSION=13.0.3
ARG COMMIT
FROM nvidia/cuda:${CUDA_VERSION}-devel-ubuntu24.04 AS base
ARG EFA_INSTALLER_VERSION=1.48.0
ARG NCCL_VERSION=v2.30.4-1
ENV PATH=/opt/amazon/openmpi/bin:$PATH \
    LANG=C.UTF-8
# a comment
RUN curl -fsSLo efa.tgz https://efa-installer.amazonaws.com/efa-${EFA_INSTALLER_VERSION}.tar.gz \
    # a comment within
    && tar -xf efa.tgz

RUN git clone --branch ${NCCL_VERSION} --depth 1 https://github.com/NVIDIA/nccl.git /opt/nccl
RUN git clone https://github.com/a/b.git /b && git -C /b checkout 0dc87eb3b40c372a16b70ef320f37daaa5299ca7
RUN python3 -m pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cu130 \
      torch==2.9.1 "git+https://github.com/a/b@v1.2" /wheels/*.whl \
 && pip install -r requirements.txt -e .
COPY requirements.txt ./src/*.py /work/
RUN echo vvhost vv > "=1" && curl https://@host/x
COPY <<"EOF" /etc/some.conf
pip install nothing
EOF
RUN <<EOF
set -e
pip install numpy==2.1.0
EOF
FROM base
FROM scratch
COPY --from=base /work /work
ADD --checksum=sha256:24454f830cdb571e2c4ad15481119c43b3cafd48dd869a9b2945d1036d1dc68d https://h/x /x
ENTRYPOINT ["python3", "train.py"]
)";
  EXPECT_EQ(testing::text_of_findings(check(text)), "");
  // It was read to its end, and in its midst: one fault more is all that is found.
  const auto lines = std::count(text.begin(), text.end(), '\n');
  const Findings last = check(text + "RUN git clone https://github.com/a/b\n");
  ASSERT_EQ(last.size(), 1u) << testing::text_of_findings(last);
  EXPECT_EQ(last[0].rule, "docker-clone");
  EXPECT_EQ(last[0].where.line, lines + 1);
  std::string damaged = text;
  const std::string commit = " checkout 0dc87eb3b40c372a16b70ef320f37daaa5299ca7";
  damaged.replace(damaged.find(commit), commit.size(), " status");
  const Findings amid = check(damaged);
  ASSERT_EQ(amid.size(), 1u) << testing::text_of_findings(amid);
  EXPECT_EQ(amid[0].rule, "docker-clone");
}

TEST_F(Docker, ADigestFixesATag) {
  EXPECT_TRUE(check("FROM a/b:latest@sha256:4498c1fa9e76983dad9d7a0a5d00\n").empty());
}

TEST_F(Docker, ATextWithoutFromIsUnreadable) {
  bool unreadable = false;
  const facts::Facts none;
  kDockerfileChecker.check({"Dockerfile", "/p", "hello\n"}, none, unreadable);
  EXPECT_TRUE(unreadable);
  const Findings findings =
      kDockerfileChecker.check({"Dockerfile", "/p", "ARG A=1\n"}, none, unreadable);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].message.find("no FROM"), std::string::npos);
}

TEST(Dockerfile, StagesArgumentsAndDefaults) {
  const Dockerfile file = parse_dockerfile(
      "ARG A=1\nARG B=${A}.2\nFROM x:${B} AS One\nARG A\nENV C=${A:-none} D=\"$A b\" E=${Z:-z}\n"
      "FROM one AS two\nARG A=3\nRUN echo $C\n",
      "f");
  EXPECT_TRUE(file.findings.empty());
  ASSERT_EQ(file.stages.size(), 2u);
  EXPECT_EQ(file.stages[0].image, "x:1.2");
  EXPECT_EQ(file.stages[0].name, "one");
  const DockerInstruction& run = file.instructions.back();
  EXPECT_EQ(file.value_of("C", run), "1");
  EXPECT_EQ(file.value_of("D", run), "1 b");
  EXPECT_EQ(file.value_of("E", run), "z");
  EXPECT_EQ(file.value_of("A", run), "3");
  EXPECT_EQ(file.expand("$A-${Q}-${Q:-q}-\\$A", run), "3-${Q}-q-\\$A");
}

TEST(Dockerfile, TheEscapeDirectiveChangesContinuations) {
  const Dockerfile file = parse_dockerfile("# escape=`\nFROM x:1\nRUN a `\n  b\\\n", "f");
  ASSERT_EQ(file.instructions.size(), 2u);
  EXPECT_NE(file.instructions[1].body.find('b'), std::string::npos);
}

}  // namespace
}  // namespace muster::lint
