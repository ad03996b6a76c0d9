#include "architectures/efa_cheatsheet.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "architectures/interfaces.h"

namespace muster::architectures {
namespace {

std::string conditions_of(const facts::VariableRule& rule) {
  std::vector<std::string> words;
  if (!rule.families.empty()) words.push_back(fmt::format("{}", fmt::join(rule.families, ", ")));
  if (!rule.targets.empty()) words.push_back(fmt::format("on {}", fmt::join(rule.targets, ", ")));
  if (!rule.accelerator.empty()) words.push_back("with " + rule.accelerator);
  for (const auto& [library, version] : rule.below)
    words.push_back(fmt::format("{} < {}", library, version));
  for (const auto& [library, version] : rule.at_least)
    words.push_back(fmt::format("{} ≥ {}", library, version));
  if (rule.forks.value_or(false)) words.emplace_back("the program forks");
  if (rule.debug.value_or(false)) words.emplace_back("debugging");
  if (rule.several_nodes.value_or(false)) words.emplace_back("several nodes");
  return words.empty() ? "otherwise, or always" : fmt::format("{}", fmt::join(words, "; "));
}

std::string rules_table(const facts::EnvironmentRules& rules) {
  std::string text = "| Variable | | Value | When | Why |\n|---|---|---|---|---|\n";
  for (const facts::VariableRule& rule : rules) {
    const std::string value = rule.given   ? "`" + *rule.given + "`"
                              : rule.value ? "`" + *rule.value + "`"
                                           : "";
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", rule.variable, to_string(rule.verdict),
                        value, conditions_of(rule), rule.reason);
  }
  return text;
}

struct Preset {
  const char* title;
  const char* instance;
  const char* ofi_nccl;  ///< empty: current
  bool forks;
};

std::string presets(const facts::EnvironmentRules& rules) {
  static constexpr Preset kPresets[] = {
      {"p5, current libraries", "p5.48xlarge", "", false},
      {"p5, current libraries, a data loader that forks", "p5.48xlarge", "", true},
      {"p5, aws-ofi-nccl 1.6", "p5.48xlarge", "1.6.0", false},
      {"p5, aws-ofi-nccl 1.5", "p5.48xlarge", "1.5.0", false},
      {"p6-b200, current libraries", "p6-b200.48xlarge", "", false},
      {"g5, current libraries", "g5.12xlarge", "", false},
  };
  std::string text = "| Nodes | Set, under Slurm |\n|---|---|\n";
  for (const Preset& preset : kPresets) {
    facts::Circumstances circumstances;
    circumstances.instance_type = preset.instance;
    circumstances.target = "slurm";
    circumstances.accelerator = "gpu";
    circumstances.fabric = true;
    circumstances.forks = preset.forks;
    circumstances.several_nodes = true;
    if (*preset.ofi_nccl != '\0') circumstances.versions["ofi_nccl"] = preset.ofi_nccl;
    std::vector<std::string> words;
    for (const auto& [name, value] : facts::needed_environment(rules, circumstances))
      words.push_back(fmt::format("`{}={}`", name, value));
    text += fmt::format("| {} | {} |\n", preset.title, fmt::join(words, " "));
  }
  return text;
}

std::string instances_table(const std::vector<facts::Instance>& instances) {
  std::string text =
      "| Type | EFA devices | Interfaces of a launch | RDMA read | RDMA write |\n"
      "|---|---|---|---|---|\n";
  const auto told = [](const std::optional<bool>& value) {
    return !value ? "" : *value ? "yes" : "no";
  };
  for (const facts::Instance& instance : instances) {
    if (instance.network.efa_count.value_or(0) == 0) continue;
    const GroupLayout layout = lay_out({}, instance);
    text +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", instance.name, *instance.network.efa_count,
                    layout.interfaces.empty() ? "not known" : describe(layout),
                    told(instance.network.rdma_read), told(instance.network.rdma_write));
  }
  return text;
}

}  // namespace

std::string efa_cheatsheet(const facts::Facts& known) {
  return fmt::format(
      "# EFA cheat-sheet\n\n"
      "Rendered from `facts/environment.yaml` and `facts/instances.yaml` by `muster render "
      "architectures`, change those. `muster validate`\napplies the same rules to the environment "
      "of every case.\n\n"
      "## What to set\n\n{}\n"
      "## Every rule\n\n"
      "For a variable the first line that holds is the one that counts. *needed*: set it; "
      "*optional*: a case may want it; *automatic*: the libraries do\nit by themselves; *no-op*: "
      "nothing reads it; *harmful*: breaks or slows something. A version that nobody states counts "
      "as current.\n\n{}\n"
      "## Interfaces by instance type\n\n{}\n"
      "The first interface is network card 0, device 0. Security groups stand at each interface, "
      "never at the top of a launch template that names\ninterfaces; EC2 gives such a launch no "
      "public address. Without a reservation that fixes their place, nodes belong in a cluster "
      "placement group.\n\n"
      "## Security group\n\n"
      "| Rule | For |\n|---|---|\n"
      "| in: all protocols, from the group itself | EFA, whose traffic has no ports |\n"
      "| out: all protocols, to the group itself | EFA; a rule to `0.0.0.0/0` does not stand for "
      "it |\n"
      "| out: all protocols, to `0.0.0.0/0` | packages, registries, AWS |\n\n"
      "`architectures/vpc_network` makes this group, and every architecture takes it.\n",
      presets(known.environment), rules_table(known.environment), instances_table(known.instances));
}

}  // namespace muster::architectures
