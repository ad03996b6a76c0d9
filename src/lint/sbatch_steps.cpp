// What a batch script starts: srun's options, containers, ranks; and how long it waits.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/document.h"
#include "lint/sbatch_rules.h"

namespace muster::lint {
namespace {

bool contains(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

class Steps {
 public:
  explicit Steps(const SbatchSubject& subject) : subject_(subject) {}

  Findings check() {
    for (const ShellCommand& command : subject_.script.shell.commands) {
      if (const auto at = find_srun(command)) {
        check_srun(command, *at);
        check_ranks(command, *at);
      } else {
        check_ranks(command, command.words.size());
      }
      for (const Assignment& assignment : command.assignments) check_array(assignment);
      check_declared(command);
    }
    for (const SbatchOption& option : subject_.script.options) {
      if (option.is_known) check_option(option);
    }
    return std::move(findings_);
  }

 private:
  void wrong(std::size_t at, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(subject_.place(at), rule, std::move(message), std::move(hint)));
  }

  void check_srun(const ShellCommand& command, std::size_t at) {
    const facts::SlurmOptions& slurm = subject_.known.slurm;
    std::vector<facts::SlurmOption> known = slurm.srun;
    known.insert(known.end(), slurm.hyperpod.begin(), slurm.hyperpod.end());
    const SrunOptions options = srun_options(subject_.script, command, at, known);
    for (const SbatchOption& option : options.written) {
      check_srun_option(option);
      check_option(option);
    }
    // The values of arrays are checked wherever an array stands (check_array).
    for (const SbatchOption& option : options.listed) check_srun_option(option);
  }

  void check_srun_option(const SbatchOption& option) {
    if (option.is_known) {
      if (option.wants_value)
        wrong(option.at, "sbatch-option-value", fmt::format("{} needs a value", option.written));
      if (option.refuses_value)
        wrong(option.at, "sbatch-option-value", fmt::format("{} takes no value", option.written));
      return;
    }
    if (!subject_.known.slurm.known() || contains(option.written, "$")) return;
    std::vector<std::string> names;
    for (const facts::SlurmOption& known : subject_.known.slurm.srun)
      names.push_back("--" + known.name);
    const auto meant = did_you_mean(option.written, names);
    wrong(option.at, "sbatch-option", fmt::format("srun has no option {}", option.written),
          meant ? fmt::format("did you mean {}?", *meant) : std::string());
  }

  // What holds wherever the option stands: a directive, srun's words, an array of them.
  void check_option(const SbatchOption& option) {
    if (option.name == "mpi" && option.has_value) check_mpi(option.at, option.value);
    if (option.name == "container-mounts") check_mounts(option.at, option.value);
    if (option.name == "auto-resume") check_auto_resume(option.at);
  }

  void check_mpi(std::size_t at, const std::string& plugin) {
    const auto& known = subject_.known.slurm.mpi;
    if (known.empty() || contains(plugin, "$")) return;
    if (std::find(known.begin(), known.end(), plugin) != known.end()) return;
    const auto meant = did_you_mean(plugin, known);
    wrong(at, "sbatch-mpi", fmt::format("Slurm offers no MPI plugin \"{}\"", plugin),
          meant ? fmt::format("did you mean {}?", *meant)
                : fmt::format("one of: {}", fmt::join(known, ", ")));
  }

  void check_mounts(std::size_t at, const std::string& mounts) {
    std::size_t from = 0;
    while (from <= mounts.size()) {
      const auto comma = std::min(mounts.find(',', from), mounts.size());
      const std::string mount = mounts.substr(from, comma - from);
      from = comma + 1;
      // A whole variable may hold several mounts.
      const bool folder = mount == "$PWD" || mount == "$HOME" || mount == "$SLURM_SUBMIT_DIR";
      const bool variable =
          !folder && mount.rfind('$', 0) == 0 && !contains(mount, "/") && !contains(mount, "(");
      if (mount.empty() || variable || outside_of_expansions(mount).find(':') != std::string::npos)
        continue;
      wrong(at, "sbatch-mount", fmt::format("mount {} has no target", mount),
            fmt::format("{}:/path/in/the/container", mount));
    }
  }

  static std::string outside_of_expansions(const std::string& text) {
    std::string plain;
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '$' && i + 1 < text.size() && (text[i + 1] == '{' || text[i + 1] == '(')) {
        ++depth;
        ++i;
      } else if (depth > 0 && (text[i] == '}' || text[i] == ')')) {
        --depth;
      } else if (depth == 0) {
        plain += text[i];
      }
    }
    return plain;
  }

  void check_auto_resume(std::size_t at) {
    if (contains(subject_.source.text, "/opt/sagemaker_cluster")) return;
    wrong(at, "sbatch-auto-resume", "--auto-resume is an option of HyperPod's srun only",
          "add it only where /opt/sagemaker_cluster is a directory");
  }

  // Arguments that are kept in an array: ARGS=(--container-image X --container-mounts Y).
  void check_array(const Assignment& assignment) {
    if (assignment.value.raw.rfind('(', 0) != 0) return;
    check_text(assignment.value.raw.substr(1), assignment.value.at + 1);
  }

  void check_declared(const ShellCommand& command) {
    if (command.words.empty() || command.words[0].text != "declare") return;
    for (const ShellWord& word : command.words) {
      const auto open = word.raw.find("=(");
      if (open != std::string::npos) check_text(word.raw.substr(open + 2), word.at + open + 2);
    }
  }

  void check_text(const std::string& inner, std::size_t at) {
    const ShellScript parsed = parse_shell(inner);
    for (const ShellCommand& command : parsed.commands) {
      for (std::size_t i = 0; i < command.words.size(); ++i) {
        const std::string& text = command.words[i].text;
        for (const char* name : {"mpi", "container-mounts", "auto-resume"}) {
          const std::string flag = std::string("--") + name;
          SbatchOption option;
          option.name = name;
          option.at = at + command.words[i].at;
          option.has_value = true;
          if (text.rfind(flag + "=", 0) == 0) {
            option.value = text.substr(flag.size() + 1);
          } else if (text == flag && i + 1 < command.words.size()) {
            option.value = command.words[i + 1].text;
          } else {
            continue;
          }
          check_option(option);
        }
      }
    }
  }

  // $SLURM_PROCID in the batch shell is 0: what srun starts gets the same text on every node.
  void check_ranks(const ShellCommand& command, std::size_t srun) {
    static constexpr std::array<std::string_view, 3> kRanks = {"SLURM_PROCID", "SLURM_LOCALID",
                                                               "SLURM_NODEID"};
    static constexpr std::array<std::string_view, 4> kOptions = {"--machine_rank", "--node_rank",
                                                                 "--node-rank", "--machine-rank"};
    for (std::size_t i = 0; i < command.words.size(); ++i) {
      const ShellWord& word = command.words[i];
      const std::string option = word.text.substr(0, word.text.find('='));
      const bool is_rank = std::find(kOptions.begin(), kOptions.end(), option) != kOptions.end();
      std::string value;
      if (is_rank && option.size() < word.text.size()) value = word.text.substr(option.size() + 1);
      if (is_rank && option.size() == word.text.size() && i + 1 < command.words.size())
        value = command.words[i + 1].text;
      if (is_rank && Node::scalar(value, false, {}).as_int() && several_nodes()) {
        wrong(word.at, "sbatch-rank-scope", fmt::format("{} is {} on every node", option, value),
              "a rendezvous that gives out the ranks, or a rank that each task reads itself");
      }
      const bool expands = i > srun || is_rank;
      if (!expands) continue;
      for (const Expansion& expansion : subject_.script.shell.expansions) {
        const bool inside = expansion.at >= word.at && expansion.at < word.at + word.raw.size();
        if (!inside || std::find(kRanks.begin(), kRanks.end(), expansion.name) == kRanks.end())
          continue;
        wrong(expansion.at, "sbatch-rank-scope",
              fmt::format("the batch shell expands ${} before srun starts: it is the same for all "
                          "tasks",
                          expansion.name),
              fmt::format("in single quotes, as bash -c '… ${} …'", expansion.name));
      }
    }
  }

  bool several_nodes() const {
    const SbatchOption* nodes = subject_.script.find("nodes");
    return nodes && nodes->value != "1";
  }

  const SbatchSubject& subject_;
  Findings findings_;
};

// Loops with a condition, found by their keywords.
class Waits {
 public:
  explicit Waits(const SbatchSubject& subject) : subject_(subject) {}

  Findings check() {
    for (const ShellCommand& command : subject_.script.shell.commands) {
      for (const std::string& keyword : command.keywords) {
        if (keyword == "while" || keyword == "until")
          open_.push_back({command.at, true, false, false, reads(command), is_endless(command)});
        if (keyword == "done" && !open_.empty()) close();
      }
      if (!command.words.empty() &&
          (command.words[0].text == "for" || command.words[0].text == "select"))
        open_.push_back({command.at, false, false, true, false, false});
      note(command);
    }
    return std::move(findings_);
  }

 private:
  struct Loop {
    std::size_t at = 0;
    bool conditional = false;
    bool waits = false;    // sleeps, or does nothing
    bool bounded = false;  // counts, or looks at a clock
    bool reads = false;    // ends with its input
    bool endless = false;  // its condition never changes
  };

  static bool reads(const ShellCommand& command) {
    return !command.words.empty() &&
           (command.words[0].text == "read" || command.words[0].text == "getopts");
  }

  static bool is_endless(const ShellCommand& command) {
    return command.words.size() == 1 &&
           (command.words[0].text == "true" || command.words[0].text == ":" ||
            command.words[0].text == "false");
  }

  void note(const ShellCommand& command) {
    bool counts = command.is_arithmetic;
    bool sleeps = false;
    if (!command.words.empty()) {
      const std::string& program = command.words[0].text;
      sleeps = program == "sleep" || ((program == ":" || program == "true") &&
                                      !command.keywords.empty() && command.keywords.back() == "do");
      counts |= program == "let" || program == "shift" || program == "date" || program == "timeout";
    }
    for (const Assignment& assignment : command.assignments)
      counts |= contains(assignment.value.raw, "$((");
    for (const ShellWord& word : command.words)
      counts |= contains(word.raw, "SECONDS") || contains(word.raw, "EPOCH");
    for (Loop& loop : open_) {
      loop.waits |= sleeps;
      loop.bounded |= counts;
    }
  }

  void close() {
    const Loop loop = open_.back();
    open_.pop_back();
    if (!loop.conditional || loop.reads || loop.bounded || !(loop.waits || loop.endless)) return;
    findings_.push_back(
        error_at(subject_.place(loop.at), "sbatch-unbounded-wait",
                 "this loop waits without a limit: the nodes stay allocated for nothing",
                 "count the attempts and fail, e.g. for attempt in $(seq 60), or timeout 600 …"));
  }

  const SbatchSubject& subject_;
  std::vector<Loop> open_;
  Findings findings_;
};

}  // namespace

Findings check_steps(const SbatchSubject& subject) {
  return Steps(subject).check();
}

Findings check_waits(const SbatchSubject& subject) {
  return Waits(subject).check();
}

}  // namespace muster::lint
