// The command line as a whole, without a process: what every verb has, and what people get wrong.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <set>
#include <sstream>

#include "cli/command_tree.h"
#include "cli/completion.h"
#include "cli/context.h"
#include "cli/manual.h"

namespace muster::cli {
namespace {

class AppTest : public ::testing::Test {
 protected:
  AppTest() {
    context_.directory = "/p";
    EXPECT_TRUE(files_.make_directories("/p/test_cases"));
  }

  int run(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "muster");
    return cli::run(static_cast<int>(arguments.size()), arguments.data(), context_);
  }

  CommandInfo tree() {
    CLI::App root;
    build(root, context_);
    return describe(root);
  }

  MemoryFileSystem files_;
  FakeProcessRunner processes_;
  ManualClock clock_;
  std::ostringstream out_;
  std::ostringstream err_;
  Context context_{files_, processes_, clock_, out_, err_};
};

TEST_F(AppTest, NothingGivenIsAUsageError) {
  EXPECT_EQ(run({}), 1);
  EXPECT_NE(err_.str().find("Usage: muster"), std::string::npos);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(AppTest, EveryVerbHasHelpAndADescription) {
  for (const CommandInfo& verb : tree().commands) {
    EXPECT_FALSE(verb.description.empty()) << verb.name;
    EXPECT_NE(verb.description.back(), '.') << verb.name;
    for (const OptionInfo& option : verb.options)
      EXPECT_FALSE(option.description.empty()) << verb.name << option.names[0];
    // Their help is that of the program that they hand over to.
    if (verb.group == "Native engine" || verb.name == "exporter") continue;
    out_.str("");
    EXPECT_EQ(run({verb.name.c_str(), "--help"}), 0) << verb.name;
    EXPECT_NE(out_.str().find(verb.description.substr(0, verb.description.find('\n'))),
              std::string::npos)
        << verb.name;
  }
}

TEST_F(AppTest, AMistypedVerbOrOptionIsExplained) {
  EXPECT_EQ(run({"confg"}), 1);
  EXPECT_NE(err_.str().find("unknown command 'confg'; did you mean 'config'?"), std::string::npos)
      << err_.str();
  err_.str("");
  EXPECT_EQ(run({"config", "--outptu", "json"}), 1);
  EXPECT_NE(err_.str().find("unknown option '--outptu'; did you mean '--output'?"),
            std::string::npos)
      << err_.str();
  err_.str("");
  EXPECT_EQ(run({"config", "extra"}), 1);
  EXPECT_NE(err_.str().find("unexpected argument 'extra'"), std::string::npos) << err_.str();
}

TEST_F(AppTest, AValueThatIsNoneIsBadInput) {
  EXPECT_EQ(run({"config", "-o", "xml"}), 2);
  EXPECT_NE(err_.str().find("xml"), std::string::npos);
}

TEST_F(AppTest, GlobalFlagsMayFollowTheVerb) {
  EXPECT_EQ(run({"config", "-o", "json"}), 0) << err_.str();
  const std::string after = out_.str();
  out_.str("");
  EXPECT_EQ(run({"-o", "json", "config"}), 0);
  EXPECT_EQ(out_.str(), after);
}

TEST_F(AppTest, AVerbWithoutJudgementHasNoSarif) {
  EXPECT_EQ(run({"config", "-o", "sarif"}), 1);
  EXPECT_NE(err_.str().find("config has no sarif form"), std::string::npos);
}

TEST_F(AppTest, CompletionsNameEveryVerbAndOption) {
  const CommandInfo root = tree();
  for (const std::string& script :
       {bash_completion(root), zsh_completion(root), fish_completion(root)}) {
    for (const CommandInfo* command : flatten(root)) {
      EXPECT_NE(script.find(command->name), std::string::npos) << command->path;
      for (const OptionInfo& option : command->options) {
        if (option.positional) continue;
        const std::string& name = option.names.back();
        const std::string bare = name.substr(name.find_first_not_of('-'));
        EXPECT_NE(script.find(bare), std::string::npos) << command->path << " " << name;
        for (const std::string& choice : option.choices)
          EXPECT_NE(script.find(choice), std::string::npos);
      }
    }
  }
}

TEST_F(AppTest, TheManPageAndTheReferenceNameEveryCommand) {
  const CommandInfo root = tree();
  const std::string page = reference(root);
  const std::string man = man_page(root, "1");
  for (const CommandInfo* command : flatten(root)) {
    EXPECT_NE(page.find("## `" + command->path + "`"), std::string::npos) << command->path;
    EXPECT_NE(man.find(command->name), std::string::npos) << command->path;
  }
}

TEST_F(AppTest, DoctorNamesWhatIsMissingAndWhatMendsIt) {
  EXPECT_EQ(run({"doctor", "docs", "-o", "json"}), 4);
  EXPECT_NE(out_.str().find("apt-get install hugo"), std::string::npos) << out_.str();
}

TEST_F(AppTest, DoctorComparesVersionsByNumber) {
  const auto answer = [](const char* text) {
    return ProcessResult{0, 0, false, false, false, text, "", {}};
  };
  processes_.answer("/usr/bin/hugo", answer("hugo v0.99.1+extended linux/amd64"));
  processes_.answer("hugo", answer(""));  // makes it found
  EXPECT_EQ(run({"doctor", "docs"}), 4);
  EXPECT_NE(out_.str().find("/usr/bin/hugo is version 0.99.1, 0.100 or newer is needed"),
            std::string::npos)
      << out_.str();
  processes_.answer("/usr/bin/hugo", answer("hugo v0.111.3+extended linux/amd64"));
  out_.str("");
  EXPECT_EQ(run({"doctor", "docs"}), 0) << out_.str();
}

}  // namespace
}  // namespace muster::cli
