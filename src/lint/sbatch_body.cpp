// The body of a batch script: variables, and what is written down that should not be.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/document.h"
#include "catalog/identities.h"
#include "catalog/secrets.h"
#include "lint/sbatch_rules.h"

namespace muster::lint {
namespace {

// Set by the shell itself (bash's manual, Shell Variables) or by a login (POSIX, systemd).
bool is_given(const std::string& name) {
  static const std::set<std::string> kNames = {"BASH",
                                               "BASHPID",
                                               "BASHOPTS",
                                               "COLUMNS",
                                               "COMP_WORDS",
                                               "COPROC",
                                               "DIRSTACK",
                                               "EPOCHREALTIME",
                                               "EPOCHSECONDS",
                                               "EUID",
                                               "FUNCNAME",
                                               "GROUPS",
                                               "HISTCMD",
                                               "HOME",
                                               "HOSTNAME",
                                               "HOSTTYPE",
                                               "IFS",
                                               "LANG",
                                               "LC_ALL",
                                               "LC_CTYPE",
                                               "LD_LIBRARY_PATH",
                                               "LINENO",
                                               "LINES",
                                               "LOGNAME",
                                               "MACHTYPE",
                                               "MAPFILE",
                                               "OLDPWD",
                                               "OPTARG",
                                               "OPTERR",
                                               "OPTIND",
                                               "OSTYPE",
                                               "PATH",
                                               "PIPESTATUS",
                                               "PPID",
                                               "PS1",
                                               "PWD",
                                               "RANDOM",
                                               "REPLY",
                                               "SECONDS",
                                               "SHELL",
                                               "SHELLOPTS",
                                               "SHLVL",
                                               "SRANDOM",
                                               "TERM",
                                               "TMPDIR",
                                               "TZ",
                                               "UID",
                                               "USER",
                                               "CUDA_VISIBLE_DEVICES",
                                               "GPU_DEVICE_ORDINAL",
                                               "ROCR_VISIBLE_DEVICES",
                                               "XDG_RUNTIME_DIR",
                                               "_"};
  return kNames.count(name) != 0 || name.rfind("BASH_", 0) == 0;
}

bool is_of_slurm(const facts::SlurmOptions& slurm, const std::string& name) {
  if (std::find(slurm.variables.begin(), slurm.variables.end(), name) != slurm.variables.end())
    return true;
  // SLURM_JOB_NUM_NODES_HET_GROUP_0, SLURM_JOB_ID_PACK_GROUP_0.
  for (const char* group : {"_HET_GROUP_", "_PACK_GROUP_"}) {
    const auto at = name.find(group);
    if (at != std::string::npos) return is_of_slurm(slurm, name.substr(0, at));
  }
  return false;
}

// Other files that the script reads in may set anything.
const ShellCommand* sourced(const ShellScript& shell) {
  for (const ShellCommand& command : shell.commands) {
    if (command.words.empty()) continue;
    const std::string& program = command.words[0].text;
    if (program == "source" || program == "." || program == "eval" || program == "module" ||
        program == "conda")
      return &command;
  }
  return nullptr;
}

std::set<std::string> exported_by_directive(const SbatchScript& script) {
  std::set<std::string> names;
  const SbatchOption* option = script.find("export");
  if (!option) return names;
  std::string rest = option->value;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string part = rest.substr(0, comma);
    names.insert(part.substr(0, part.find('=')));
    rest.erase(0, comma + 1);
  }
  return names;
}

}  // namespace

Findings check_variables(const SbatchSubject& subject) {
  const ShellScript& shell = subject.script.shell;
  const facts::SlurmOptions& slurm = subject.known.slurm;
  const auto assigned = assigned_names(shell);
  const std::set<std::string> set(assigned.begin(), assigned.end());
  const std::set<std::string> exported = exported_by_directive(subject.script);
  const ShellCommand* other = sourced(shell);

  std::set<std::string> tested;  // somewhere with a stand-in, so the author knows that it may miss
  for (const Expansion& expansion : shell.expansions) {
    if (expansion.guarded) tested.insert(expansion.name);
  }
  std::set<std::string> told;
  Findings findings;
  for (const Expansion& expansion : shell.expansions) {
    const std::string& name = expansion.name;
    if (expansion.guarded || set.count(name) || exported.count(name) || tested.count(name) ||
        is_given(name) || is_of_slurm(slurm, name) || !told.insert(name).second)
      continue;
    Finding finding =
        error_at(subject.place(expansion.at), "sbatch-unset", fmt::format("nothing sets ${}", name),
                 fmt::format("set it, or stop without it: ${{{}:?}}", name));
    const bool slurms = name.rfind("SLURM_", 0) == 0 || name.rfind("SLURMD_", 0) == 0;
    std::vector<std::string> candidates = slurms ? slurm.variables : assigned;
    if (const auto meant = did_you_mean(name, candidates)) {
      finding.hint = fmt::format("did you mean ${}?", *meant);
    }
    if (slurms && slurm.variables.empty()) continue;
    if (slurms) {
      finding.message = fmt::format("Slurm sets no variable ${}", name);
    } else if (other && other->words.size() > 1) {
      finding.severity = Severity::kWarning;
      finding.message = fmt::format("nothing here sets ${}, unless {} {} does", name,
                                    other->words[0].text, other->words[1].text);
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

namespace {

class Literals {
 public:
  explicit Literals(const SbatchSubject& subject) : subject_(subject) {}

  Findings check() {
    const Source& source = subject_.source;
    findings_ = catalog::identity_findings(source.text, source.path.string(), "sbatch",
                                           subject_.known.public_accounts);
    if (!subject_.script.shell.complete) {
      findings_.push_back(warning_at(subject_.place(subject_.script.first_command), "sbatch-syntax",
                                     "a quote, bracket or here-document is never closed",
                                     "bash -n says where"));
    }
    check_spool();
    for (const ShellCommand& command : subject_.script.shell.commands) {
      for (const Assignment& assignment : command.assignments)
        check_secret(assignment.name, assignment.value);
      for (const ShellWord& word : command.words) {
        const auto equals = word.text.find('=');
        if (equals != std::string::npos && is_shell_name(word.text.substr(0, equals))) {
          ShellWord value = word;
          value.text = word.text.substr(equals + 1);
          check_secret(word.text.substr(0, equals), value);
        } else {
          check_secret("", word);
        }
        check_braces(word);
      }
      for (const Assignment& assignment : command.assignments) check_braces(assignment.value);
    }
    return std::move(findings_);
  }

 private:
  void wrong(std::size_t at, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(subject_.place(at), rule, std::move(message), std::move(hint)));
  }

  // Slurm runs a copy of the script from its spool directory.
  void check_spool() {
    const std::string& text = subject_.source.text;
    for (const Expansion& expansion : subject_.script.shell.expansions) {
      if (expansion.name == "BASH_SOURCE") spool(expansion.at, "$BASH_SOURCE");
    }
    for (const ShellCommand& command : subject_.script.shell.commands) {
      const bool locates = !command.words.empty() && (command.words[0].text == "dirname" ||
                                                      command.words[0].text == "realpath" ||
                                                      command.words[0].text == "readlink");
      if (!locates) continue;
      for (const ShellWord& word : command.words) {
        if (word.text == "$0" || word.text == "${0}") spool(word.at, word.text);
      }
    }
    for (const char* form : {"${0%/*}", "${0%%/*}"}) {
      if (const auto at = text.find(form); at != std::string::npos) spool(at, form);
    }
  }

  void spool(std::size_t at, const std::string& what) {
    wrong(at, "sbatch-spool-path",
          fmt::format("{} is the copy in Slurm's spool directory, not the file that was submitted",
                      what),
          "$SLURM_SUBMIT_DIR, or a path from the manifest");
  }

  void check_secret(const std::string& name, const ShellWord& word) {
    if (word.text.find("$(") != std::string::npos || word.text.rfind('$', 0) == 0) return;
    if (!catalog::looks_like_secret(name, word.text)) return;
    wrong(word.at, "sbatch-secret",
          name.empty() ? "a secret is written down" : fmt::format("{} is written down", name),
          "hand it on from the submitter's environment: ${HF_TOKEN:?}");
  }

  // "image:{TAG}" for "image:${TAG}", "${DIR}}".
  void check_braces(const ShellWord& word) {
    const std::string& raw = word.raw;
    if (raw.find('\'') != std::string::npos || raw.rfind('(', 0) == 0) return;
    int open = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == '\\') {
        ++i;
      } else if (raw[i] == '{') {
        ++open;
        const bool dollar = i > 0 && raw[i - 1] == '$';
        const auto close = raw.find('}', i);
        if (dollar || close == std::string::npos || close == i + 1) continue;
        const std::string inside = raw.substr(i + 1, close - i - 1);
        const bool upper = std::all_of(inside.begin(), inside.end(), [](char c) {
          return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        });
        if (upper && is_shell_name(inside)) {
          wrong(word.at + i, "sbatch-brace", fmt::format("{{{}}} is literal text", inside),
                fmt::format("${{{}}}", inside));
        }
      } else if (raw[i] == '}') {
        if (--open < 0) {
          if (raw == "}") return;
          wrong(word.at + i, "sbatch-brace", "a \"}\" that nothing opens");
          return;
        }
      }
    }
  }

  const SbatchSubject& subject_;
  Findings findings_;
};

}  // namespace

Findings check_literals(const SbatchSubject& subject) {
  return Literals(subject).check();
}

}  // namespace muster::lint
