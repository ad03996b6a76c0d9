// Images: what their manifests become.
#include "images/render.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "facts/compatibility.h"
#include "images/kept.h"
#include "testing.h"

namespace muster::images {
namespace {

facts::Facts known() {
  auto facts = facts::load_facts(real_file_system(), testing::source_dir());
  EXPECT_TRUE(facts);
  return facts ? *facts : facts::Facts();
}

catalog::ImageManifest image_of(const std::string& name, const facts::Facts& facts) {
  auto image = catalog::find_image(real_file_system(), testing::source_dir(), facts, name);
  EXPECT_TRUE(image) << name;
  return image ? *image : catalog::ImageManifest();
}

std::string file_of(const RenderedImage& rendered, const std::string& path) {
  for (const ImageFile& file : rendered.files) {
    if (file.path == path) return file.content;
  }
  ADD_FAILURE() << path;
  return {};
}

// Every image and every platform that is asked for is there, without a finding.
TEST(Images, AllAreThere) {
  const facts::Facts facts = known();
  std::vector<std::string> names;
  std::set<std::string> systems;
  for (const auto& entry : catalog::list_images(real_file_system(), testing::source_dir(), facts)) {
    EXPECT_TRUE(entry.problems.empty()) << entry.name;
    names.push_back(entry.name);
    for (const auto& source : entry.values.sources) systems.insert(source.system);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"nccl-tests", "pytorch", "base-gpu", "eks-gpu",
                                             "eks-neuron", "parallelcluster-cpu",
                                             "parallelcluster-gpu", "parallelcluster-neuron"}));
  EXPECT_EQ(systems, (std::set<std::string>{"amazon-linux-2023", "ubuntu-22.04", "ubuntu-24.04"}));
}

// All files of all images: no AMI, no account, no Region, no variable that nobody filled in.
TEST(Images, NothingIsBoundToAPlace) {
  const auto kept = kept_images(real_file_system(), testing::source_dir());
  ASSERT_TRUE(kept);
  EXPECT_GE(kept->files.size(), 29U);
  for (const auto& file : kept->files) {
    EXPECT_EQ(file.content.find("ami-0"), std::string::npos) << file.path;
    EXPECT_EQ(file.content.find("us-east-1"), std::string::npos) << file.path;
    EXPECT_EQ(file.content.find("us-west-2"), std::string::npos) << file.path;
    EXPECT_EQ(file.content.find("arn:aws:"), std::string::npos) << file.path;
  }
}

// A version that an image overrides reaches all that is made of it: tag and address, and no
// checksum of another version.
TEST(Images, AnOverrideReachesTagAddressAndChecksum) {
  const facts::Facts facts = known();
  catalog::ImageManifest image = image_of("base-gpu", facts);
  image.versions = {{"nccl", "2.31.2"}, {"aws_cli", "2.99.0"}};
  const auto rendered = render(image, real_file_system(), testing::source_dir(), facts.versions);
  ASSERT_TRUE(rendered);
  const std::string variables = file_of(*rendered, "group_vars/all.yml");
  EXPECT_NE(variables.find("nccl_tag: \"v2.31.2-1\"\n"), std::string::npos);
  EXPECT_NE(variables.find("awscli-exe-linux-x86_64-2.99.0.zip"), std::string::npos);
  EXPECT_NE(variables.find("aws_cli_sha256: \"\"\n"), std::string::npos);
  EXPECT_EQ(rendered->versions.at("nccl"), "2.31.2");
}

TEST(Images, WhatIsCompiledIsForTheGpusOfTheImage) {
  const facts::Facts facts = known();
  catalog::ImageManifest image = image_of("nccl-tests", facts);
  image.gpus = {"B300", "A100", "B200", "GB200"};
  Versions versions(image, facts.versions);
  EXPECT_EQ(versions.value("nccl_gencode"),
            "-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_100,code=sm_100 "
            "-gencode=arch=compute_103,code=sm_103");
  image.gpus.clear();
  EXPECT_EQ(versions.value("nccl_gencode"), std::nullopt);
}

TEST(Images, AddressesFollowTheProcessor) {
  const facts::Facts facts = known();
  catalog::ImageManifest image = image_of("parallelcluster-cpu", facts);
  image.architecture = "aarch64";
  Versions versions(image, facts.versions);
  EXPECT_TRUE(versions.value("aws_cli_url")->find("linux-aarch64-") != std::string::npos);
  EXPECT_TRUE(versions.value("node_exporter_url")->find("linux-arm64.") != std::string::npos);
  EXPECT_EQ(versions.value("aws_cli_sha256"), "");  // nobody knows that archive's
  EXPECT_EQ(versions.value("nothing_version"), std::nullopt);
  EXPECT_EQ(versions.value("lustre_client_version"), std::nullopt);  // the distribution's
}

TEST(Images, AMissingVersionIsAnError) {
  const facts::Facts facts = known();
  catalog::ImageManifest image = image_of("parallelcluster-cpu", facts);
  facts::VersionCatalog catalog = facts.versions;
  std::erase_if(catalog.components, [](const auto& row) { return row.name == "pyxis"; });
  const auto rendered = render(image, real_file_system(), testing::source_dir(), catalog);
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.findings().front().rule, "image-variable");
  EXPECT_NE(rendered.findings().front().message.find("enroot_pyxis needs pyxis_repository"),
            std::string::npos);
  image.sources.front().name = "${nothing}";
  EXPECT_FALSE(render(image, real_file_system(), testing::source_dir(), facts.versions));
}

TEST(Images, AVariableThatNoRoleTakesIsAnError) {
  const facts::Facts facts = known();
  catalog::ImageManifest image = image_of("parallelcluster-cpu", facts);
  image.variables["docker_data_rot"] = "/x";
  const auto rendered = render(image, real_file_system(), testing::source_dir(), facts.versions);
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.findings().front().message, "no role of the image takes docker_data_rot");
}

// Whatever a text holds, filling it in leaves no ${…} of ours behind, or says that it can't.
RC_GTEST_PROP(Images, PropertyFillLeavesNothingOpen, ()) {
  static const facts::Facts kFacts = known();
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "${kubernetes}", "${parallelcluster}", "${none}", "${", "}", "$", "a", "/"));
  std::string text;
  for (const std::string& word : words) text += word;
  const catalog::ImageManifest image;
  Versions versions(image, kFacts.versions);
  const auto filled = versions.fill(text);
  if (filled) {
    RC_ASSERT(filled->find("${") == std::string::npos);
  } else {
    RC_ASSERT(text.find("${") != std::string::npos);
  }
}

}  // namespace
}  // namespace muster::images
