#include "lint/environment.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/document.h"
#include "lint/shell_script.h"

namespace muster::lint {
namespace {

// Variables of NCCL (user guide, environment variables) and of libfabric and its EFA provider
// (fi_efa(7), fabric(7)) that rules say nothing about; for misspelt names only.
constexpr std::array<const char*, 46> kFurtherNames = {"NCCL_ALGO",
                                                       "NCCL_BUFFSIZE",
                                                       "NCCL_CHECK_POINTERS",
                                                       "NCCL_COLLNET_ENABLE",
                                                       "NCCL_COMM_BLOCKING",
                                                       "NCCL_COMM_ID",
                                                       "NCCL_CROSS_NIC",
                                                       "NCCL_CUMEM_ENABLE",
                                                       "NCCL_CUMEM_HOST_ENABLE",
                                                       "NCCL_DEBUG",
                                                       "NCCL_DEBUG_FILE",
                                                       "NCCL_DEBUG_SUBSYS",
                                                       "NCCL_DMABUF_ENABLE",
                                                       "NCCL_IB_DISABLE",
                                                       "NCCL_IB_HCA",
                                                       "NCCL_IB_TIMEOUT",
                                                       "NCCL_IGNORE_CPU_AFFINITY",
                                                       "NCCL_LAUNCH_MODE",
                                                       "NCCL_MAX_CTAS",
                                                       "NCCL_MAX_NCHANNELS",
                                                       "NCCL_MIN_CTAS",
                                                       "NCCL_MIN_NCHANNELS",
                                                       "NCCL_NET",
                                                       "NCCL_NET_GDR_LEVEL",
                                                       "NCCL_NET_PLUGIN",
                                                       "NCCL_NET_SHARED_BUFFERS",
                                                       "NCCL_NTHREADS",
                                                       "NCCL_NVLS_ENABLE",
                                                       "NCCL_P2P_DISABLE",
                                                       "NCCL_P2P_LEVEL",
                                                       "NCCL_P2P_NET_CHUNKSIZE",
                                                       "NCCL_PROTO",
                                                       "NCCL_PXN_DISABLE",
                                                       "NCCL_SHM_DISABLE",
                                                       "NCCL_SOCKET_FAMILY",
                                                       "NCCL_SOCKET_IFNAME",
                                                       "NCCL_TIMEOUT",
                                                       "NCCL_TOPO_FILE",
                                                       "NCCL_TUNER_PLUGIN",
                                                       "FI_EFA_IFACE",
                                                       "FI_EFA_TX_MIN_CREDITS",
                                                       "FI_EFA_USE_DEVICE_RDMA",
                                                       "FI_LOG_LEVEL",
                                                       "FI_LOG_PROV",
                                                       "FI_MR_CACHE_MONITOR",
                                                       "FI_PROVIDER"};

bool is_further(const std::string& name) {
  return std::find(kFurtherNames.begin(), kFurtherNames.end(), name) != kFurtherNames.end();
}

class Judge {
 public:
  Judge(const std::vector<EnvironmentEntry>& entries, const facts::EnvironmentRules& rules,
        const facts::Circumstances& circumstances)
      : entries_(entries), rules_(rules), circumstances_(circumstances) {}

  Findings check_each() {
    for (const EnvironmentEntry& entry : entries_) check_entry(entry);
    return std::move(findings_);
  }

  Findings check_all(const Position& whole) {
    std::set<std::string> seen;
    for (const EnvironmentEntry& entry : entries_) {
      if (!seen.insert(entry.name).second && is_of_fabric_or_nccl(entry.name)) {
        findings_.push_back(
            warning_at(entry.where, "env-repeated",
                       fmt::format("{} is set twice; the last one counts", entry.name)));
      }
      check_entry(entry);
    }
    check_missing(seen, whole);
    return std::move(findings_);
  }

 private:
  void check_entry(const EnvironmentEntry& entry) {
    check_rule(entry);
    check_spelling(entry);
    // A value that is filled in later contradicts nothing yet.
    if (entry.value.find('$') == std::string::npos) check_conflicts(entry);
  }

  static std::string because(const facts::VariableRule& rule) {
    return fmt::format("{} (source: {})", rule.reason, rule.source);
  }

  void add(Severity severity, const Position& where, const char* rule, std::string message,
           std::string hint) {
    findings_.push_back({severity, rule, where, std::move(message), std::move(hint)});
  }

  void check_rule(const EnvironmentEntry& entry) {
    const facts::VariableRule* rule =
        facts::rule_for(rules_, entry.name, entry.value, circumstances_);
    if (!rule || may_be_needed(entry, *rule)) return;
    switch (rule->verdict) {
      case facts::VariableVerdict::kHarmful:
        add(Severity::kError, entry.where, "env-harmful",
            fmt::format("{} is harmful: {}", entry.name, because(*rule)), "leave it out");
        break;
      case facts::VariableVerdict::kNoOp:
        add(Severity::kError, entry.where, "env-no-op",
            fmt::format("{} does nothing: {}", entry.name, because(*rule)), "leave it out");
        break;
      case facts::VariableVerdict::kAutomatic:
        add(Severity::kWarning, entry.where, "env-automatic",
            fmt::format("{} is automatic: {}", entry.name, because(*rule)), "leave it out");
        break;
      case facts::VariableVerdict::kNeeded:
        if (rule->value && *rule->value != entry.value &&
            entry.value.find('$') == std::string::npos && entry.name != "NCCL_DEBUG" &&
            entry.name != "NCCL_SOCKET_IFNAME") {
          add(Severity::kError, entry.where, "env-value",
              fmt::format("{} is \"{}\": {}", entry.name, entry.value, because(*rule)),
              fmt::format("{}={}", entry.name, *rule->value));
        }
        break;
      case facts::VariableVerdict::kOptional:
        break;
    }
  }

  // Where the instance type is not known, what some family needs is not superfluous.
  bool may_be_needed(const EnvironmentEntry& entry, const facts::VariableRule& counts) const {
    const bool superfluous = counts.verdict == facts::VariableVerdict::kAutomatic ||
                             counts.verdict == facts::VariableVerdict::kNoOp;
    if (!superfluous || !circumstances_.instance_type.empty()) return false;
    return std::any_of(rules_.begin(), rules_.end(), [&](const facts::VariableRule& rule) {
      if (rule.variable != entry.name || rule.families.empty() || rule.value != entry.value ||
          rule.verdict != facts::VariableVerdict::kNeeded)
        return false;
      facts::VariableRule anywhere = rule;
      anywhere.families.clear();
      return anywhere.holds(circumstances_);
    });
  }

  void check_spelling(const EnvironmentEntry& entry) {
    const bool known = std::any_of(rules_.begin(), rules_.end(),
                                   [&](const auto& rule) { return rule.variable == entry.name; });
    if (known || rules_.empty() || !is_of_fabric_or_nccl(entry.name) || is_further(entry.name))
      return;
    std::vector<std::string> names(kFurtherNames.begin(), kFurtherNames.end());
    for (const facts::VariableRule& rule : rules_) names.push_back(rule.variable);
    if (const auto meant = did_you_mean(entry.name, names)) {
      add(Severity::kError, entry.where, "env-misspelt",
          fmt::format("{} is not known, but {} is (source: NCCL user guide, fi_efa manual page)",
                      entry.name, *meant),
          fmt::format("did you mean {}?", *meant));
    }
  }

  void check_conflicts(const EnvironmentEntry& entry) {
    const auto conflict = [&](std::string message, std::string hint) {
      add(Severity::kError, entry.where, "env-conflict", std::move(message), std::move(hint));
    };
    if (entry.name == "FI_PROVIDER" && circumstances_.fabric && entry.value != "efa") {
      conflict(
          fmt::format("FI_PROVIDER={} turns EFA off, which {} has",
                      entry.value.empty() ? "(empty)" : entry.value, circumstances_.instance_type),
          "leave it out: EFA is chosen where there is one");
    }
    if (entry.name == "NCCL_SOCKET_IFNAME" && entry.value == "lo" && circumstances_.several_nodes) {
      conflict("NCCL_SOCKET_IFNAME=lo: no other node reaches the loopback", "^lo,docker");
    }
    if (entry.name == "NCCL_IB_DISABLE" && entry.value == "1" && circumstances_.fabric) {
      conflict("NCCL_IB_DISABLE speaks of InfiniBand; EFA is reached through aws-ofi-nccl",
               "leave it out");
    }
    if (entry.name == "UCX_TLS" && circumstances_.several_nodes &&
        (entry.value == "self,sm" || entry.value == "sm,self")) {
      conflict("UCX_TLS=self,sm leaves no transport between nodes", "leave it out");
    }
    if (entry.name == "NCCL_NET_PLUGIN" && entry.value == "none" && circumstances_.fabric) {
      conflict("NCCL_NET_PLUGIN=none turns aws-ofi-nccl off, and EFA with it", "leave it out");
    }
  }

  void check_missing(const std::set<std::string>& seen, const Position& whole) {
    for (const auto& [name, value] : facts::needed_environment(rules_, circumstances_)) {
      if (seen.count(name) != 0) continue;
      const facts::VariableRule* rule = facts::rule_for(rules_, name, value, circumstances_);
      add(Severity::kWarning, whole, "env-missing",
          fmt::format("{} is not set{}{}", name, rule ? ": " : "", rule ? because(*rule) : ""),
          fmt::format("{}={}", name, value));
    }
  }

  const std::vector<EnvironmentEntry>& entries_;
  const facts::EnvironmentRules& rules_;
  const facts::Circumstances& circumstances_;
  Findings findings_;
};

std::string unquoted(std::string text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t'))
    text.pop_back();
  if (text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0])
    return text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

bool is_of_fabric_or_nccl(std::string_view name) {
  for (const std::string_view prefix :
       {"NCCL_", "FI_", "TORCH_NCCL_", "RDMAV_", "GLOO_", "UCX_TLS"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

void set_instance(facts::Circumstances& circumstances, const facts::Facts& known,
                  const std::string& type) {
  const std::string_view plain =
      std::string_view(type).starts_with("ml.") ? std::string_view(type).substr(3) : type;
  const auto instance = std::find_if(known.instances.begin(), known.instances.end(),
                                     [&](const facts::Instance& one) { return one.name == plain; });
  if (instance == known.instances.end()) return;
  circumstances.instance_type = instance->name;
  circumstances.fabric = instance->network.efa_count.value_or(0) > 0;
  circumstances.accelerator = instance->accelerators ? instance->accelerators->kind : "cpu";
}

std::vector<EnvironmentEntry> parse_environment_text(std::string_view text,
                                                     const std::string& file) {
  std::vector<EnvironmentEntry> entries;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    ++number;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const auto first = std::min(line.find_first_not_of(" \t"), line.size());
    int column = static_cast<int>(first) + 1;
    line.remove_prefix(first);
    for (const std::string_view word : {std::string_view("export "), std::string_view("ENV ")}) {
      if (line.substr(0, word.size()) != word) continue;
      line.remove_prefix(word.size());
      column += static_cast<int>(word.size());
    }
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || !is_shell_name(line.substr(0, equals))) continue;
    entries.push_back({std::string(line.substr(0, equals)),
                       unquoted(std::string(line.substr(equals + 1))),
                       {file, number, column}});
  }
  return entries;
}

Findings check_environment_set(const std::vector<EnvironmentEntry>& entries,
                               const facts::EnvironmentRules& rules,
                               const facts::Circumstances& circumstances, const Position& whole) {
  return Judge(entries, rules, circumstances).check_all(whole);
}

Findings check_environment_entries(const std::vector<EnvironmentEntry>& entries,
                                   const facts::EnvironmentRules& rules,
                                   const facts::Circumstances& circumstances) {
  return Judge(entries, rules, circumstances).check_each();
}

}  // namespace muster::lint
