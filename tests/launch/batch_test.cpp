#include "launch/batch.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload_case.h"

namespace muster::launch {
namespace {

using catalog::Override;
using nlohmann::json;
using workload_test::render;

json definition(const std::vector<Override>& overrides) {
  const auto rendered = render(overrides, Target::kBatch);
  EXPECT_TRUE(rendered.ok()) << (rendered ? "" : to_string(rendered.findings().front()));
  return rendered ? json::parse(rendered->files.front().content) : json();
}

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

/// Starts the gathering for the given ranks of `nodes`; output and exit codes, one line each.
std::string gather(int nodes, const std::string& ranks, double limit) {
  const std::string command = "for rank in " + ranks + "; do { out=$(python3 - " +
                              std::to_string(nodes) + " $rank 127.0.0.1 " +
                              std::to_string(free_port()) + " " + std::to_string(limit) +
                              " 2>&1 <<'PY'\n" + gather_program() +
                              "PY\n); code=$?; echo rank $rank code $code: $out; } & done; wait";
  FILE* pipe = ::popen(("bash -c '" +
                        [&] {
                          std::string quoted;
                          for (const char c : command) {
                            if (c == '\'') {
                              quoted += "'\\''";
                            } else {
                              quoted += c;
                            }
                          }
                          return quoted;
                        }() +
                        "'")
                           .c_str(),
                       "r");
  std::string output;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    output.append(buffer, count);
  ::pclose(pipe);
  return output;
}

TEST(Batch, AMultiNodeJobHasAllThatTheInstanceHas) {
  const json job = definition({});
  EXPECT_EQ(job["type"], "multinode");
  EXPECT_EQ(job["nodeProperties"]["numNodes"], 4);
  EXPECT_EQ(job["nodeProperties"]["mainNode"], 0);
  EXPECT_EQ(job["retryStrategy"]["attempts"], 4);
  EXPECT_EQ(job["timeout"]["attemptDurationSeconds"], 21600);
  const json& container = job["nodeProperties"]["nodeRangeProperties"][0]["container"];
  EXPECT_EQ(container["instanceType"], "p5.48xlarge");
  EXPECT_EQ(container["linuxParameters"]["devices"].size(), 32U);
  EXPECT_EQ(container["linuxParameters"]["devices"][31]["hostPath"], "/dev/infiniband/uverbs31");
  EXPECT_EQ(container["linuxParameters"]["sharedMemorySize"], 65536);
  EXPECT_EQ(container["secrets"][0],
            (json{{"name", "HF_TOKEN"}, {"valueFrom", "/hf-token/token"}}));
  EXPECT_EQ(container["resourceRequirements"][2], (json{{"type", "GPU"}, {"value", "8"}}));
  EXPECT_EQ(container["mountPoints"][0]["containerPath"], "/fsx");
  EXPECT_EQ(definition({{"topology.instance_type",
                         "p6-b200.48xlarge"}})["nodeProperties"]["nodeRangeProperties"][0]
                                              ["container"]["linuxParameters"]["devices"]
                                                  .size(),
            8U);
}

TEST(Batch, OneNodeIsAPlainJob) {
  const json job = definition({{"topology.nodes", "1"}});
  EXPECT_EQ(job["type"], "container");
  const std::string script = job["containerProperties"]["command"][2];
  EXPECT_EQ(script.find("AWS_BATCH_JOB_NUM_NODES"), std::string::npos) << script;
}

TEST(Batch, StepsAreSubmittedInOrderWithThePlaceholdersFilledIn) {
  const auto rendered = render({{"image.uri", "\"${IMAGE_REGISTRY}/demo:1.2\""},
                                {"steps", "[{name: get, command: [true], array: 3}]"}},
                               Target::kBatch);
  ASSERT_TRUE(rendered.ok()) << to_string(rendered.findings().front());
  ASSERT_EQ(rendered->files.size(), 3U);
  const std::string& submit = rendered->files.back().content;
  EXPECT_LT(submit.find("register tiny-1-get.json"), submit.find("register tiny.json"));
  EXPECT_NE(submit.find("--depends-on=\"jobId=$job\""), std::string::npos);
  EXPECT_NE(submit.find("--array-properties=size=3"), std::string::npos);
  EXPECT_NE(submit.find("IMAGE_REGISTRY:?"), std::string::npos);
}

TEST(Batch, RefusesWhatItDoesNotTake) {
  for (const std::vector<Override>& overrides :
       {std::vector<Override>{{"resilience.max_retries", "10"}},
        {{"expect.timeout", "30s"}},
        {{"topology.instance_type", "null"}, {"env.profile", "none"}},
        {{"launcher", "mpirun"}, {"rendezvous.backend", "null"}},
        {{"targets.batch.ssh_key", "/mpi/key"}},
        {{"env.set", "{A: \"${HOME}\"}"}}}) {
    const auto rendered = render(overrides, Target::kBatch);
    ASSERT_FALSE(rendered.ok()) << overrides.front().first;
    EXPECT_FALSE(rendered.findings().front().where.file.empty());
  }
}

TEST(Batch, MpirunReachesTheOtherNodesWithASecretKey) {
  const std::vector<Override> mpi = {{"launcher", "mpirun"},
                                     {"rendezvous.backend", "null"},
                                     {"targets.batch.ssh_key", "/mpi/key"}};
  const auto rendered = render(mpi, Target::kBatch);
  ASSERT_TRUE(rendered.ok()) << to_string(rendered.findings().front());
  const auto definition = nlohmann::json::parse(rendered->files.front().content);
  const auto& container = definition["nodeProperties"]["nodeRangeProperties"][0]["container"];
  bool named = false;
  for (const auto& secret : container["secrets"])
    named |= secret["name"] == "MUSTER_SSH_KEY" && secret["valueFrom"] == "/mpi/key";
  EXPECT_TRUE(named);
  const std::string script = container["command"][2];
  EXPECT_NE(script.find("--hostfile /tmp/muster-hosts"), std::string::npos);
  EXPECT_NE(script.find("StrictHostKeyChecking yes"), std::string::npos);
  EXPECT_NE(script.find("no ssh within 600 s"), std::string::npos);
  EXPECT_NE(script.find("-x HF_TOKEN"), std::string::npos);
  // One node needs no other, and no key.
  auto alone = mpi;
  alone.pop_back();
  alone.push_back({"topology.nodes", "1"});
  const auto single = render(alone, Target::kBatch);
  ASSERT_TRUE(single.ok()) << to_string(single.findings().front());
  EXPECT_EQ(single->files.front().content.find("ssh"), std::string::npos);
  EXPECT_NE(single->files.front().content.find("--allow-run-as-root"), std::string::npos);
}

TEST(Gather, EveryNodeLearnsAllAddresses) {
  const std::string output = gather(3, "0 1 2", 20);
  for (int rank = 0; rank < 3; ++rank) {
    const std::string line =
        "rank " + std::to_string(rank) + " code 0: 127.0.0.1 127.0.0.1 127.0.0.1\n";
    EXPECT_NE(output.find(line), std::string::npos) << output;
  }
}

TEST(Gather, ANodeThatDoesNotComeIsNamedAndEndsAll) {
  const std::string output = gather(4, "0 2", 2);
  EXPECT_NE(output.find("within 2 s these nodes did not come: 1 3"), std::string::npos) << output;
  for (const char* line : {"rank 0 code 124", "rank 2 code 124"})
    EXPECT_NE(output.find(line), std::string::npos) << output;
}

}  // namespace
}  // namespace muster::launch
