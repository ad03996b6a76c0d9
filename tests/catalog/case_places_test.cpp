// Paths and identities in a manifest: each defect once.
#include "catalog/case_places.h"

#include <gtest/gtest.h>

#include "base/file_system.h"
#include "catalog/identities.h"
#include "fixture.h"
#include "testing.h"

namespace muster::catalog {
namespace {

struct Defect {
  const char* rule;
  std::vector<Override> options;
};

TEST(CasePlaces, EachRuleFindsItsDefect) {
  const Override pod{"targets", "{kubernetes: {object: PyTorchJob}}"};
  const std::vector<Defect> all = {
      {"case-mount", {pod, {"checkpoint.dir", "/work/ckpt"}}},
      {"case-mount", {pod, {"data.name", "null"}, {"data.path", "/fsx/data/x.txt"}}},
      {"case-mount", {{"entrypoint", "{args: [--vocab=/fsx/vocab.json]}"}}},
      {"case-mount", {{"entrypoint", "{args: [--vocab, /efs/vocab.json]}"}}},
      {"case-rendezvous",
       {{"rendezvous.elastic", "true"}, {"entrypoint", "{args: [--node_rank=$RANK]}"}}},
      {"case-identity", {{"env.set", "{ROLE: \"arn:aws:iam::210987654329:role/x\"}"}}},
      {"case-identity", {{"env.set", "{FS: fs-0a1b2c3d4e5f6a7b8}"}}},
      {"case-identity", {{"env.set", "{OUT: \"s3://somebodys-data/out\"}"}}},
      {"case-identity", {{"env.set", "{URL: abc-123.elb.us-east-1.amazonaws.com}"}}},
      {"case-region", {{"image.base", "x.dkr.ecr.us-east-1.amazonaws.com/y:1"}}},
      {"case-site-path", {{"env.set", "{HF_HOME: /fsx/ubuntu/hf}"}}},
      {"case-site-path", {{"env.set", "{HOME_OF: /home/someone/x}"}}},
      {"case-numbered-path", {{"env.set", "{SRC: repo/3.test_cases/x}"}}},
  };
  for (const Defect& defect : all) {
    SCOPED_TRACE(defect.options.back().first + "=" + defect.options.back().second);
    const auto resolved = settle(kManifest, "", defect.options);
    EXPECT_FALSE(resolved.ok());
    if (resolved.ok()) continue;
    EXPECT_EQ(resolved.findings().size(), 1u);
    EXPECT_EQ(resolved.findings()[0].rule, defect.rule) << to_string(resolved.findings()[0]);
  }
}

TEST(Identities, PlaceholdersAndVariablesAreNone) {
  const auto known = facts::load_registries(real_file_system(), testing::source_dir());
  ASSERT_TRUE(known.ok());
  for (const char* text : {"123456789012.dkr.ecr.${AWS_REGION}.amazonaws.com/x:1",
                           "arn:aws:iam::111122223333:role/x",
                           "763104351884.dkr.ecr.$AWS_REGION.amazonaws.com/pytorch",
                           "vpc-0123456789abcdef0",
                           "s3://${BUCKET}/x",
                           "s3://amzn-s3-demo-bucket/x",
                           "s3://data-${NAME}/x",
                           "s3://data-$NAME",
                           "ami-0a1b2c3d4",
                           "a.elb.example.com",
                           "see 3.test",
                           "1.first second",
                           "steps: 210987654329",
                           "/fsx/data",
                           "python3.12/site-packages",
                           "a/3.x/b",
                           "1.50/2",
                           "sg-group",
                           "/opt/apps",
                           "$HOME/x"}) {
    for (const BoundText& found : find_identities(text, *known))
      ADD_FAILURE() << text << ": " << found.rule << ", " << found.message;
  }
  // Which registries are everybody's is for the facts to say.
  EXPECT_EQ(find_identities("763104351884.dkr.ecr.$AWS_REGION.amazonaws.com/pytorch", {}).size(),
            1u);
}

}  // namespace
}  // namespace muster::catalog
