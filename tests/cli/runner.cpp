// Runs one declarative test; see docs/declarative-tests.md.
//
//   cli_runner --bin DIR --source DIR [--update] FILE.test
//
// Exit code: 0 passed, 1 failed, 2 not a test, 77 skipped.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "base/file_system.h"
#include "base/process.h"
#include "cli/compare.h"
#include "cli/script.h"
#include "testing.h"

namespace muster::clitest {
namespace {

namespace fs = std::filesystem;

struct Places {
  fs::path bin;
  fs::path source;
  fs::path work;  // the input tree and working directory
  fs::path home;
};

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); !what.empty() && at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

/// $DIR, $HOME, $SOURCE and $BIN in commands and variables.
std::string expanded(std::string text, const Places& places) {
  replace_all(text, "$DIR", places.work.string());
  replace_all(text, "$HOME", places.home.string());
  replace_all(text, "$SOURCE", places.source.string());
  replace_all(text, "$BIN", places.bin.string());
  return text;
}

/// The same, back, in what was printed or written.
std::string collapsed(std::string text, const Places& places) {
  replace_all(text, places.work.string(), "$DIR");
  replace_all(text, places.home.string(), "$HOME");
  replace_all(text, places.source.string(), "$SOURCE");
  replace_all(text, places.bin.string(), "$BIN");
  return text;
}

/// A path of the test, kept inside its tree.
fs::path inside(const fs::path& root, const std::string& path) {
  const fs::path full = (root / path).lexically_normal();
  const auto relative = full.lexically_relative(root);
  if (relative.empty() || *relative.begin() == "..")
    throw std::runtime_error("path leaves the tree: " + path);
  return full;
}

class Runner {
 public:
  Runner(const Script& script, Places places) : script_(script), places_(std::move(places)) {
    const char* path = std::getenv("PATH");
    environment_ = {
        {"PATH", places_.bin.string() + ":" + (path != nullptr ? path : "/usr/bin:/bin")},
        {"HOME", places_.home.string()},
        {"LC_ALL", "C.UTF-8"},
        {"TERM", "dumb"}};
  }

  /// What went wrong, for people; empty when the test passes.
  std::string run() {
    std::string trouble;
    for (const Step& step : script_.steps) trouble += run_step(step);
    return trouble;
  }

  /// Bodies as they should be now, by the section's line.
  const std::map<int, std::pair<const Section*, std::string>>& updates() const { return updates_; }

 private:
  void prepare(const Section& section) {
    FileSystem& disk = real_file_system();
    const auto done = [](const Result<void>& result) {
      if (!result) throw std::runtime_error(to_string(result.findings().front()));
    };
    if (section.keyword == "file" || section.keyword == "executable") {
      done(disk.write(inside(places_.work, section.rest), section.body,
                      section.keyword == "executable"));
    } else if (section.keyword == "copy") {
      const auto words = split_words(section.rest);
      if (!words || words->size() != 2)
        throw std::runtime_error("write: copy PATH-IN-THE-CHECKOUT PATH");
      const fs::path target = inside(places_.work, words->at(1));
      fs::create_directories(target.parent_path());
      fs::copy(places_.source / words->at(0), target, fs::copy_options::recursive);
    } else if (section.keyword == "env") {
      const std::size_t equals = section.rest.find('=');
      if (equals == std::string::npos) throw std::runtime_error("write: env NAME=VALUE");
      environment_[section.rest.substr(0, equals)] =
          expanded(section.rest.substr(equals + 1), places_);
    } else if (section.keyword == "stdin") {
      input_ = section.body;
    } else {
      limit_ = std::chrono::seconds(std::stoi(section.rest));
    }
  }

  Command command_of(const Section& run) {
    auto words = split_words(run.rest);
    if (!words || words->empty())
      throw std::runtime_error(fmt::format("line {}: no command", run.line));
    Command command;
    for (const std::string& word : *words) command.argv.push_back(expanded(word, places_));
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      command.unset.push_back(text.substr(0, text.find('=')));
    }
    command.env.assign(environment_.begin(), environment_.end());
    command.directory = places_.work;
    command.input = std::exchange(input_, {});
    command.time_limit = limit_;
    command.grace = std::chrono::seconds(2);
    return command;
  }

  std::string run_step(const Step& step) {
    for (const Section& section : step.before) prepare(section);
    const auto result = real_process_runner().run(command_of(step.run));
    if (!result)
      return fmt::format("line {}: {}\n", step.run.line, to_string(result.findings().front()));
    std::string trouble;
    if (result->timed_out) {
      trouble += fmt::format("    not done after {} s\n", limit_.count());
    }
    bool exit_expected = false;
    for (const Section& section : step.expected) {
      exit_expected = exit_expected || section.keyword == "exit";
      const std::string difference = check(section, *result);
      if (!difference.empty())
        trouble += fmt::format("  line {}: {} {}\n{}", section.line, section.keyword, section.rest,
                               difference);
    }
    if (!exit_expected && result->exit_code != 0)
      trouble += fmt::format("    exit code {}, expected 0\n", result->exit_code);
    if (trouble.empty()) return {};
    return fmt::format("line {}: {}\n{}{}", step.run.line, step.run.rest, trouble,
                       also_said(*result));
  }

  /// Standard error, when it may explain the trouble.
  std::string also_said(const ProcessResult& result) const {
    if (result.err.empty()) return {};
    return "  standard error was:\n" +
           difference("", collapsed(result.err.substr(0, 4000), places_));
  }

  std::string check(const Section& section, const ProcessResult& result) {
    const std::string& keyword = section.keyword;
    if (keyword == "exit") {
      if (section.rest == std::to_string(result.exit_code)) return {};
      return fmt::format("    exit code {}\n", result.exit_code);
    }
    if (keyword == "json") return json_difference(section.rest, collapsed(result.out, places_));
    if (keyword == "expect-no-file") {
      return real_file_system().exists(inside(places_.work, section.rest)) ? "    it is there\n"
                                                                           : std::string();
    }
    std::string got;
    if (keyword.rfind("expect-file", 0) == 0) {
      const auto content = real_file_system().read(inside(places_.work, section.rest));
      if (!content) return "    " + to_string(content.findings().front()) + "\n";
      got = collapsed(*content, places_);
    } else {
      got = collapsed(keyword.rfind("stdout", 0) == 0 ? result.out : result.err, places_);
    }
    if (keyword == "stdout" || keyword == "stderr" || keyword == "expect-file") {
      if (got != section.body) updates_[section.line] = {&section, got};
      return difference(section.body, got);
    }
    if (keyword.back() == '~') return difference_by_pattern(section.body, got);
    return missing_parts(section.body, got, keyword.find("-lacks") != std::string::npos);
  }

  const Script& script_;
  Places places_;
  std::map<std::string, std::string> environment_;
  std::string input_;
  std::chrono::seconds limit_{60};
  std::map<int, std::pair<const Section*, std::string>> updates_;
};

/// The test's text with the bodies that differed replaced by what came.
std::string updated(const std::string& text,
                    const std::map<int, std::pair<const Section*, std::string>>& updates) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  std::string result;
  for (std::size_t number = 1; number <= lines.size(); ++number) {
    result += lines[number - 1] + "\n";
    const auto update = updates.find(static_cast<int>(number));
    if (update == updates.end()) continue;
    std::string line;
    for (const char c : update->second.second) {
      if (c != '\n') {
        line += c;
        continue;
      }
      result += (line.empty() ? "" : "  " + line) + "\n";
      line.clear();
    }
    number = static_cast<std::size_t>(update->second.first->end_line) - 1;
  }
  return result;
}

struct Arguments {
  fs::path bin;
  fs::path source;
  fs::path file;
  bool update = false;
};

int run_file(const Arguments& arguments) {
  const auto text = real_file_system().read(arguments.file);
  const auto script =
      text ? parse_script(*text, arguments.file.string()) : Result<Script>(text.error());
  if (!script) {
    for (const Finding& finding : script.findings()) std::cerr << to_string(finding) << '\n';
    return 2;
  }
  for (const std::string& program : script->needs) {
    if (real_process_runner().find(program) ||
        real_process_runner().find((arguments.bin / program).string()))
      continue;
    std::cout << "skipped: " << program << " is not installed\n";
    return 77;
  }
  const testing::TemporaryDirectory root;
  Places places{arguments.bin, arguments.source, root.path() / "work", root.path() / "home"};
  fs::create_directories(places.work);
  fs::create_directories(places.home);
  Runner runner(*script, places);
  const std::string trouble = runner.run();
  if (arguments.update && !runner.updates().empty()) {
    const auto written = real_file_system().write(arguments.file, updated(*text, runner.updates()));
    if (!written) std::cerr << to_string(written.findings().front()) << '\n';
    std::cout << "updated " << arguments.file.string() << '\n';
  }
  if (trouble.empty()) return 0;
  std::cout << arguments.file.string() << " failed: " << script->description << trouble;
  return 1;
}

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--update") {
      arguments.update = true;
    } else if (word == "--bin" && i + 1 < argc) {
      arguments.bin = argv[++i];
    } else if (word == "--source" && i + 1 < argc) {
      arguments.source = argv[++i];
    } else {
      arguments.file = word;
    }
  }
  if (arguments.bin.empty() || arguments.source.empty() || arguments.file.empty()) {
    std::cerr << "usage: cli_runner --bin DIR --source DIR [--update] FILE.test\n";
    return 2;
  }
  try {
    return run_file(arguments);
  } catch (const std::exception& error) {
    std::cerr << arguments.file.string() << ": " << error.what() << '\n';
    return 2;
  }
}

}  // namespace
}  // namespace muster::clitest

int main(int argc, char** argv) {
  return muster::clitest::main(argc, argv);
}
