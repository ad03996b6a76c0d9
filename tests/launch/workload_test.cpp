#include "launch/workload.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include "workload_case.h"

namespace muster::launch {
namespace {

using catalog::Override;
using workload_test::workload;

std::string command(const std::vector<Override>& overrides, Target target = Target::kSlurm) {
  const auto made = workload(overrides, target);
  if (!made) return to_string(made.findings().front());
  std::string text;
  for (const Word& word : made->command) text += (text.empty() ? "" : " ") + shell_text(word);
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Launchers, TorchrunMeetsAtTheFirstNode) {
  EXPECT_EQ(command({}),
            "torchrun \"--nnodes=$SLURM_JOB_NUM_NODES\" --nproc_per_node=8 --rdzv_backend=c10d "
            "\"--rdzv_id=$SLURM_JOB_ID\" \"--rdzv_endpoint=$MASTER_ADDR:29500\" "
            "--rdzv_conf=join_timeout=600,read_timeout=600 /demo/train.py --steps=50 "
            "'--text=it'\\''s $5'");
  EXPECT_TRUE(contains(command({{"rendezvous.start_timeout", "90s"}}), "join_timeout=90"));
  EXPECT_TRUE(contains(command({{"topology.nodes", "1"}}), "--rdzv_endpoint=127.0.0.1:0"));
}

TEST(Launchers, AnElasticRendezvousGivesOutTheRanks) {
  const std::vector<Override> elastic = {{"rendezvous.elastic", "true"},
                                         {"topology.min_nodes", "2"},
                                         {"rendezvous.max_restarts", "5"}};
  EXPECT_TRUE(contains(command(elastic), "--nnodes=2:4"));
  EXPECT_TRUE(contains(command(elastic), "--max_restarts=5"));
  EXPECT_FALSE(contains(command(elastic), "node_rank"));
  const std::string fixed = command({{"rendezvous.backend", "static"}});
  EXPECT_TRUE(contains(fixed, "--rdzv_backend=static"));
  EXPECT_TRUE(contains(fixed, "\"--node_rank=$SLURM_NODEID\""));
}

TEST(Launchers, EachHasItsOwnOptions) {
  const std::vector<std::pair<const char*, const char*>> expected = {
      {"accelerate",
       "accelerate launch \"--num_machines=$SLURM_JOB_NUM_NODES\" --num_processes=32 "
       "\"--machine_rank=$SLURM_NODEID\" \"--main_process_ip=$MASTER_ADDR\" "
       "--main_process_port=29500"},
      {"deepspeed",
       "--no_ssh \"--node_rank=$SLURM_NODEID\" \"--master_addr=$MASTER_ADDR\" "
       "--master_port=29500 /demo/train.py"},
      {"composer",
       "composer --nproc=8 --world_size=32 \"--node_rank=$SLURM_NODEID\" "
       "\"--master_addr=$MASTER_ADDR\" --master_port=29500 /demo/train.py"},
      {"ft_launcher", "ft_launcher \"--nnodes=$SLURM_JOB_NUM_NODES\" --nproc_per_node=8"},
      {"nemo-run", "torchrun \"--nnodes=$SLURM_JOB_NUM_NODES\""},
      {"ray-job", "ray \"$SLURM_JOB_NUM_NODES\" \"$SLURM_NODEID\" \"$MASTER_ADDR\" 29500 600"},
      {"srun-rank", "python3 /demo/train.py --steps=50"},
      {"mpirun", "python3 /demo/train.py --steps=50"},
      {"jax", "python3 /demo/train.py --steps=50"},
  };
  for (const auto& [launcher, words] : expected) {
    const std::string text = command({{"launcher", launcher}, {"rendezvous.backend", "null"}});
    EXPECT_TRUE(contains(text, words)) << launcher << ": " << text;
  }
  // Where nothing starts every process, a launcher does.
  EXPECT_TRUE(contains(command({{"launcher", "srun-rank"}}, Target::kBatch), "torchrun"));
  EXPECT_TRUE(
      contains(command({{"launcher", "hyperpodrun"}}, Target::kHyperpodEks), "hyperpodrun"));
}

TEST(Launchers, AModuleIsStartedAsOne) {
  const std::vector<Override> module = {{"entrypoint.script", "null"},
                                        {"entrypoint.module", "demo.train"}};
  EXPECT_TRUE(contains(command(module), "--module demo.train"));
  EXPECT_TRUE(contains(command({{"entrypoint.script", "/demo/run.sh"}}), "--no_python"));
}

TEST(Launchers, RefuseWhatTheyCannotDo) {
  const std::vector<std::vector<Override>> refused = {
      {{"rendezvous.node_rank", "0"}},
      {{"rendezvous.backend", "etcd"}},
      {{"topology.min_nodes", "2"}},
      {{"launcher", "deepspeed"}, {"rendezvous.elastic", "true"}},
      {{"launcher", "composer"}, {"rendezvous.max_restarts", "3"}},
      {{"launcher", "composer"}, {"entrypoint.args", "[--home, $HOME]"}},
      {{"launcher", "composer"}, {"entrypoint.args", "[~/data]"}},
      {{"launcher", "accelerate"}, {"rendezvous.backend", "c10d"}},
      {{"launcher", "hyperpodrun"}},
      {{"entrypoint.module", "demo.train"}},
  };
  for (const auto& overrides : refused) {
    const auto made = workload(overrides, Target::kSlurm);
    ASSERT_FALSE(made.ok()) << overrides.back().first;
    EXPECT_EQ(made.findings().front().rule, "launch-launcher") << overrides.back().first;
    EXPECT_FALSE(made.findings().front().hint.empty());
  }
}

TEST(Workload, AsksForWhatTheInstanceHas) {
  const auto p5 = workload({}, Target::kBatch);
  ASSERT_TRUE(p5.ok()) << to_string(p5.findings().front());
  EXPECT_EQ(p5->resources.efa, 32);
  EXPECT_EQ(p5->resources.accelerators, 8);
  EXPECT_EQ(p5->resources.cpu, 172);
  EXPECT_EQ(p5->resources.shm, std::int64_t{64} << 30);
  const auto b300 = workload({{"topology.instance_type", "ml.p6-b300.48xlarge"}}, Target::kSlurm);
  ASSERT_TRUE(b300.ok());
  EXPECT_EQ(b300->instance_type, "p6-b300.48xlarge");
  ASSERT_EQ(b300->resources.efa, 16);
  EXPECT_EQ(b300->resources.efa_cards.front(), 1);  // card 0 is plain ENA
  const auto half = workload({{"topology.accelerators_per_node", "4"}}, Target::kSlurm);
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(half->resources.efa, 16);
  EXPECT_EQ(half->resources.cpu, 86);
  const auto neuron = workload({{"topology.accelerator", "neuron"},
                                {"topology.instance_type", "trn1.32xlarge"},
                                {"topology.accelerators_per_node", "32"}},
                               Target::kSlurm);
  ASSERT_TRUE(neuron.ok()) << to_string(neuron.findings().front());
  EXPECT_EQ(neuron->resources.accelerators, 16);  // devices of two cores
}

TEST(Workload, SetsOnlyWhatIsNeeded) {
  const auto made = workload({}, Target::kSlurm);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->environment, (std::vector<std::pair<std::string, std::string>>{
                                   {"FI_EFA_USE_HUGE_PAGE", "0"},
                                   {"NCCL_DEBUG", "WARN"},
                                   {"NCCL_SOCKET_IFNAME", "^docker,lo,veth"},
                                   {"MUSTER_RUN_DIR", "/fsx/runs/demo-tiny"},
                                   {"HF_HUB_ETAG_TIMEOUT", "60"}}));
}

TEST(Workload, NamesAreValidOrRefused) {
  EXPECT_EQ(object_name_of("training/pytorch/FSDP/llama3_1-8b"), "fsdp-llama3-1-8b");
  EXPECT_EQ(object_name_of("training/pytorch/" + std::string(30, 'a') + "/" + std::string(30, 'b')),
            std::string(30, 'b'));
  EXPECT_EQ(object_name_of("training/" + std::string(41, 'a')), "");
}

RC_GTEST_PROP(Workload, ObjectNamesAreDnsLabels, (const std::string& text)) {
  const std::string name = object_name_of("a/" + text);
  RC_ASSERT(name.size() <= 40U);
  for (const char c : name) RC_ASSERT((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-');
  if (!name.empty()) RC_ASSERT(name.front() != '-' && name.back() != '-');
}

TEST(Words, NameVariablesAndNothingElse) {
  EXPECT_EQ(manifest_word("--x=${run.dir}/a"), (Word{"--x=${MUSTER_RUN_DIR}/a", true}));
  EXPECT_EQ(manifest_word("cost: $5 `x` $(y)"), (Word{"cost: $5 `x` $(y)", false}));
  EXPECT_EQ(manifest_word("${HF_HOME}\"$5"), (Word{"${HF_HOME}\\\"\\$5", true}));
  EXPECT_EQ(shell_text({"a b", false}), "'a b'");
}

}  // namespace
}  // namespace muster::launch
