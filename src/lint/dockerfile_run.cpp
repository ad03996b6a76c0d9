// What the RUN instructions of a Dockerfile do: clones, Python packages, keys.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "catalog/versions.h"
#include "lint/dockerfile_rules.h"

namespace muster::lint {
namespace {

using Words = std::vector<ShellWord>;

bool is_option(const std::string& text) {
  return text.size() > 1 && text[0] == '-';
}

// "requirement==1.2", "name @ url", a file, a folder, "git+https://…@ref".
bool is_fixed_requirement(const std::string& text) {
  if (text.find("==") != std::string::npos) return text.find('*') == std::string::npos;
  if (text.rfind("git+", 0) == 0) {
    const auto at = text.rfind('@');
    return at != std::string::npos && at > text.find("://") + 3 &&
           !catalog::is_floating_version(text.substr(at + 1, text.find('#', at) - at - 1));
  }
  return text.find("://") != std::string::npos || text.rfind('.', 0) == 0 ||
         text.find('/') != std::string::npos || text.find('*') != std::string::npos ||
         (text.size() > 4 && text.compare(text.size() - 4, 4, ".whl") == 0);
}

class Runs {
 public:
  explicit Runs(const DockerSubject& subject) : subject_(subject) {}

  Findings check() {
    for (const DockerRun& run : subject_.runs) {
      run_ = &run;
      for (const ShellCommand& command : run.shell.commands) check_command(command);
      check_clones();
    }
    return std::move(findings_);
  }

 private:
  void wrong(std::size_t at, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(
        error_at(subject_.place(run_->at + at), rule, std::move(message), std::move(hint)));
  }

  std::string expanded(const std::string& text) const {
    return subject_.file.expand(text, *run_->instruction);
  }

  void check_command(const ShellCommand& command) {
    for (const ShellWord& word : command.words) check_word(word);
    if (command.words.empty()) return;
    const std::string program = command.words[0].text;
    if (program == "apt-key" || has(command.words, "apt-key")) {
      wrong(command.at, "docker-apt-key", "apt-key is gone from current Debian and Ubuntu",
            "a keyring in /usr/share/keyrings, named by signed-by in the source's line");
    }
    if (program == "ssh-keygen") {
      wrong(command.at, "docker-ssh-key",
            "a key that is made in the image is the same in every container of it",
            "make keys when the job starts, or mount them as a secret");
    }
    check_pip(command);
    check_redirections(command);
  }

  static bool has(const Words& words, std::string_view text) {
    return std::any_of(words.begin(), words.end(),
                       [&](const ShellWord& word) { return word.text == text; });
  }

  // "vv2.27.5-1": a "v" before a version that has one already.
  void check_word(const ShellWord& word) {
    const std::string text = expanded(word.text);
    for (auto at = text.find("vv"); at != std::string::npos; at = text.find("vv", at + 1)) {
      const bool starts = at == 0 || !std::isalnum(static_cast<unsigned char>(text[at - 1]));
      const bool number =
          at + 2 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 2]));
      if (!starts || !number) continue;
      wrong(word.at, "docker-tag",
            fmt::format("{} becomes {}: there is no such tag", word.text, text), "the \"v\" once");
      return;
    }
  }

  // `pip install a>=1` writes to a file that is named "=1".
  void check_redirections(const ShellCommand& command) {
    for (const Redirection& redirection : command.redirections) {
      const bool compares = (redirection.op == ">" || redirection.op == "<") &&
                            redirection.target.text.rfind('=', 0) == 0;
      if (!compares || redirection.target.quoted) continue;
      wrong(redirection.target.at, "docker-redirect",
            fmt::format("{}{} is a redirection: the version is written nowhere", redirection.op,
                        redirection.target.text),
            "quote the requirement, and pin it: 'name==version'");
    }
  }

  void check_pip(const ShellCommand& command) {
    const Words& words = command.words;
    std::size_t at = 0;
    while (at < words.size() && !is_pip(words[at].text)) ++at;
    while (at < words.size() && words[at].text != "install") ++at;
    if (at == words.size()) return;
    static const std::set<std::string> kWithValue = {"-c",
                                                     "--constraint",
                                                     "-i",
                                                     "--index-url",
                                                     "--extra-index-url",
                                                     "-f",
                                                     "--find-links",
                                                     "-t",
                                                     "--target",
                                                     "--prefix",
                                                     "--root",
                                                     "--python",
                                                     "--no-binary",
                                                     "--only-binary",
                                                     "--timeout",
                                                     "--retries",
                                                     "--platform",
                                                     "--upgrade-strategy",
                                                     "--global-option",
                                                     "--config-settings",
                                                     "-C",
                                                     "--trusted-host",
                                                     "--cache-dir",
                                                     "--index",
                                                     "--torch-backend",
                                                     "--build-constraint",
                                                     "-b",
                                                     "--python-version",
                                                     "--implementation",
                                                     "--abi",
                                                     "--src"};
    const bool constrained = std::any_of(words.begin(), words.end(), [](const ShellWord& word) {
      return word.text == "-c" || word.text.rfind("--constraint", 0) == 0;
    });
    for (++at; at < words.size(); ++at) {
      const std::string& text = words[at].text;
      if (text == "-r" || text == "--requirement" || text == "-e" || text == "--editable") {
        ++at;
        if (at < words.size() && text.size() > 1 && (text == "-e" || text == "--editable"))
          check_requirement(words[at], constrained);
      } else if (kWithValue.count(text)) {
        ++at;
      } else if (!is_option(text)) {
        check_requirement(words[at], constrained);
      }
    }
  }

  static bool is_pip(const std::string& text) {
    const auto slash = text.rfind('/');
    const std::string name = slash == std::string::npos ? text : text.substr(slash + 1);
    return name == "pip" || (name.rfind("pip3", 0) == 0 && name.find('=') == std::string::npos);
  }

  void check_requirement(const ShellWord& word, bool constrained) {
    const std::string text = expanded(word.text);
    if (text.empty() || text[0] == '$' || constrained || is_fixed_requirement(text)) return;
    wrong(word.at, "docker-pip",
          fmt::format("{} is installed in whatever version there is", word.text), "name==version");
  }

  // A clone is fixed by --branch with a tag, or by a checkout of a commit behind it.
  void check_clones() {
    const auto& commands = run_->shell.commands;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const Words& words = commands[i].words;
      if (words.size() < 3 || !is_git(words, "clone")) continue;
      const std::string branch = branch_of(words);
      bool fixed = !branch.empty() && !is_moving(branch);
      const std::string* floating = branch.empty() || fixed ? nullptr : &branch;
      std::string later;
      for (std::size_t k = i + 1; k < commands.size() && !fixed; ++k) {
        if (is_git(commands[k].words, "clone")) break;
        const std::string ref = checked_out(commands[k].words);
        if (ref.empty()) continue;
        fixed = !is_moving(ref);
        later = ref;
        if (!fixed) floating = &later;
      }
      if (fixed) continue;
      wrong(commands[i].at, "docker-clone",
            floating ? fmt::format("cloned at {}, which moves", *floating)
                     : std::string("cloned at no tag or commit"),
            "git clone --branch TAG --depth 1, or git checkout COMMIT behind it");
    }
  }

  static bool is_git(const Words& words, std::string_view verb) {
    for (std::size_t i = 0; i < words.size() && i < 8; ++i) {
      if (words[i].text != "git") continue;
      for (std::size_t k = i + 1; k < words.size(); ++k) {
        if (words[k].text == verb) return true;
        if (words[k].text == "-C" || words[k].text == "-c") {
          ++k;
        } else if (!is_option(words[k].text)) {
          return false;
        }
      }
    }
    return false;
  }

  std::string branch_of(const Words& words) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& text = words[i].text;
      if ((text == "-b" || text == "--branch" || text == "--revision") && i + 1 < words.size())
        return expanded(words[i + 1].text);
      for (const char* option : {"--branch=", "--revision="}) {
        if (text.rfind(option, 0) == 0)
          return expanded(text.substr(std::string_view(option).size()));
      }
    }
    return {};
  }

  std::string checked_out(const Words& words) const {
    const bool takes = is_git(words, "checkout") || is_git(words, "switch") ||
                       is_git(words, "reset") || is_git(words, "fetch");
    if (!takes) return {};
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
      if (is_option(word->text)) continue;
      static constexpr std::array<std::string_view, 6> kVerbs = {"checkout", "switch", "reset",
                                                                 "fetch",    "origin", "git"};
      if (std::find(kVerbs.begin(), kVerbs.end(), word->text) != kVerbs.end()) return {};
      return expanded(word->text);
    }
    return {};
  }

  static bool is_moving(const std::string& ref) {
    static const std::set<std::string> kBranches = {
        "main",   "master", "develop",    "dev",     "HEAD",        "latest",       "nightly",
        "stable", "trunk",  "FETCH_HEAD", "release", "origin/main", "origin/master"};
    return kBranches.count(ref) != 0 ||
           (ref.size() > 2 && ref.compare(ref.size() - 2, 2, ".x") == 0);
  }

  const DockerSubject& subject_;
  const DockerRun* run_ = nullptr;
  Findings findings_;
};

}  // namespace

Findings check_runs(const DockerSubject& subject) {
  return Runs(subject).check();
}

}  // namespace muster::lint
