#include "cli/settings.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() {
    sources_.directory = "/p/sub";
    sources_.environment["HOME"] = "/home/u";
    EXPECT_TRUE(files_.write("/p/.muster.yaml", ""));
    EXPECT_TRUE(files_.make_directories("/p/sub"));
  }

  Setting get(const std::string& name) {
    const auto settings = resolve_settings(files_, sources_);
    EXPECT_TRUE(settings) << to_string(settings.findings()[0]);
    return settings->all().at(name);
  }

  MemoryFileSystem files_;
  SettingSources sources_;
};

TEST_F(SettingsTest, EveryLayerWinsOverTheOneBelow) {
  EXPECT_EQ(get("comm_timeout").origin, "default");
  ASSERT_TRUE(files_.write("/home/u/.config/muster/config.yaml", "comm_timeout: 1\n"));
  EXPECT_EQ(get("comm_timeout").value, "1");
  EXPECT_EQ(get("comm_timeout").origin, "/home/u/.config/muster/config.yaml:1");
  ASSERT_TRUE(files_.write("/p/.muster.yaml", "threads: 3\ncomm_timeout: 2\n"));
  EXPECT_EQ(get("comm_timeout").value, "2");
  EXPECT_EQ(get("comm_timeout").origin, "/p/.muster.yaml:2");
  sources_.environment["MUSTER_COMM_TIMEOUT"] = "4";
  EXPECT_EQ(get("comm_timeout").value, "4");
  EXPECT_EQ(get("comm_timeout").origin, "environment MUSTER_COMM_TIMEOUT");
  sources_.flags["comm_timeout"] = "5";
  EXPECT_EQ(get("comm_timeout").value, "5");
  EXPECT_EQ(get("comm_timeout").origin, "flag --comm-timeout");
}

TEST_F(SettingsTest, PathsAreTakenFromWhereTheyAreWritten) {
  EXPECT_EQ(get("runs_dir").value, "/p/.muster/runs");
  ASSERT_TRUE(files_.write("/p/.muster.yaml", "runs_dir: there/\n"));
  EXPECT_EQ(get("runs_dir").value, "/p/there");
  sources_.environment["MUSTER_RUNS_DIR"] = "here";
  EXPECT_EQ(get("runs_dir").value, "/p/sub/here");
  sources_.flags["runs_dir"] = "../x";
  EXPECT_EQ(get("runs_dir").value, "/p/x");
}

TEST_F(SettingsTest, FindsTheProjectUpwards) {
  EXPECT_EQ(get("project").value, "/p");
  ASSERT_TRUE(files_.make_directories("/p/sub/test_cases"));
  EXPECT_EQ(get("project").value, "/p/sub");
  sources_.environment["MUSTER_PROJECT"] = "/p";
  EXPECT_EQ(get("project").value, "/p");
  sources_.directory = "/home/u";
  EXPECT_TRUE(files_.make_directories("/home/u"));
  sources_.environment.erase("MUSTER_PROJECT");
  EXPECT_EQ(get("project").value, "/home/u");
}

TEST_F(SettingsTest, NoColorIsHonouredAndOverruledByOurOwn) {
  sources_.environment["NO_COLOR"] = "1";
  EXPECT_EQ(get("color").value, "never");
  sources_.environment["MUSTER_COLOR"] = "always";
  EXPECT_EQ(get("color").value, "always");
}

struct Wrong {
  const char* content;
  const char* finding;
};

class WrongSettingsTest : public SettingsTest, public ::testing::WithParamInterface<Wrong> {};

TEST_P(WrongSettingsTest, IsLocated) {
  ASSERT_TRUE(files_.write("/p/.muster.yaml", GetParam().content));
  const auto settings = resolve_settings(files_, sources_);
  ASSERT_FALSE(settings);
  EXPECT_NE(to_string(settings.findings()[0]).find(GetParam().finding), std::string::npos)
      << to_string(settings.findings()[0]);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongSettingsTest,
    ::testing::Values(
        Wrong{"thread: 1\n",
              "/p/.muster.yaml:1:1: error: unknown setting 'thread'; did you mean 'threads'?"},
        Wrong{"threads: many\n", "/p/.muster.yaml:1:10: error: threads: 'many'"},
        Wrong{"threads: -1\n", "at least 0"},  //
        Wrong{"threads: [1]\n", "a sequence is not a value"},
        Wrong{"output: tabel\n", "one of table, wide, json"},  //
        Wrong{"- a\n", "settings are a mapping"},              //
        Wrong{"a: b: c\n", "not valid YAML"}));

TEST_F(SettingsTest, AWrongVariableIsNamed) {
  sources_.environment["MUSTER_THREADS"] = "x";
  const auto settings = resolve_settings(files_, sources_);
  ASSERT_FALSE(settings);
  EXPECT_NE(settings.findings()[0].message.find("MUSTER_THREADS"), std::string::npos);
}

}  // namespace
}  // namespace muster::cli
