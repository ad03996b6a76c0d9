// Rules on environment variables of the fabric and of collective libraries: which are needed, and
// which do nothing or harm, by instance family and library version. The data is
// facts/environment.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

/// What the rules depend on. A version that is not stated counts as current.
struct Circumstances {
  std::string instance_type;                    ///< p5.48xlarge, ml.p5.48xlarge; empty: not known
  std::string target;                           ///< slurm, kubernetes, hyperpod-eks, batch, local
  std::string accelerator;                      ///< gpu, neuron, cpu
  std::map<std::string, std::string> versions;  ///< efa, libfabric, ofi_nccl, nccl, torch, kernel
  bool fabric = false;                          ///< EFA is used
  bool forks = false;                           ///< the program forks, as data loaders do
  bool debug = false;
  bool several_nodes = false;
};

/// What a rule says about its variable.
enum class VariableVerdict {
  kNeeded,     ///< must be set, to `value`
  kOptional,   ///< a case may want it
  kAutomatic,  ///< the libraries do it by themselves
  kNoOp,       ///< nothing reads it
  kHarmful,    ///< breaks or slows something
};

/// "needed", "optional", "automatic", "no-op", "harmful".
const char* to_string(VariableVerdict verdict);

struct VariableRule {
  std::string variable;
  std::optional<std::string> value;  ///< to set, or that is right
  std::optional<std::string> given;  ///< the rule speaks only of a variable that has this value
  VariableVerdict verdict = VariableVerdict::kOptional;
  std::string reason, source;
  Position where;

  // When it holds; all of them.
  std::vector<std::string> families, targets;  ///< empty: any
  std::string accelerator;                     ///< empty: any
  std::map<std::string, std::string> below, at_least;
  std::optional<bool> forks, debug, several_nodes;

  bool holds(const Circumstances& circumstances) const;
};

using EnvironmentRules = std::vector<VariableRule>;

/// The rule that counts for a variable that is set to `value`, or null when there is none.
const VariableRule* rule_for(const EnvironmentRules& rules, const std::string& variable,
                             const std::string& value, const Circumstances& circumstances);

/// What has to be set, in the order of the rules. Variables of libfabric (FI_*) only where there is
/// a fabric.
std::vector<std::pair<std::string, std::string>> needed_environment(
    const EnvironmentRules& rules, const Circumstances& circumstances);

/// The family of an instance type: "ml.p5en.48xlarge" -> "p5en".
std::string instance_family(const std::string& instance_type);

Result<EnvironmentRules> load_environment(const FileSystem& files,
                                          const std::filesystem::path& root);
Result<EnvironmentRules> parse_environment(const std::string& text, const std::string& file);

}  // namespace muster::facts
