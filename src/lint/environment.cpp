#include "lint/environment.h"

#include <algorithm>
#include <array>
#include <map>
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

bool is_watched(const std::string& name) {
  for (const char* prefix : {"NCCL_", "FI_", "TORCH_NCCL_", "RDMAV_", "GLOO_"}) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

std::vector<std::string> known_names(const facts::EnvironmentRules& rules) {
  std::set<std::string> names(kFurtherNames.begin(), kFurtherNames.end());
  for (const facts::VariableRule& rule : rules) names.insert(rule.variable);
  return {names.begin(), names.end()};
}

class Judge {
 public:
  Judge(const std::vector<EnvironmentEntry>& entries, const facts::EnvironmentRules& rules,
        const facts::Circumstances& circumstances, const Position& whole)
      : entries_(entries), rules_(rules), circumstances_(circumstances), whole_(whole) {
    for (const EnvironmentEntry& entry : entries_) values_[entry.name] = entry.value;
  }

  Findings check() {
    const auto names = known_names(rules_);
    std::set<std::string> seen;
    for (const EnvironmentEntry& entry : entries_) {
      if (is_watched(entry.name) && !seen.insert(entry.name).second) {
        findings_.push_back(
            warning_at(entry.where, "env-repeated",
                       fmt::format("{} is set twice; the last one counts", entry.name)));
      }
      check_rule(entry);
      check_spelling(entry, names);
      check_conflicts(entry);
    }
    check_missing();
    return std::move(findings_);
  }

 private:
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
    if (!rule) return;
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
        if (rule->value && *rule->value != entry.value && entry.name != "NCCL_DEBUG" &&
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

  void check_spelling(const EnvironmentEntry& entry, const std::vector<std::string>& names) {
    if (!is_watched(entry.name) || std::find(names.begin(), names.end(), entry.name) != names.end())
      return;
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

  void check_missing() {
    for (const auto& [name, value] : facts::needed_environment(rules_, circumstances_)) {
      if (values_.count(name) != 0) continue;
      const facts::VariableRule* rule = facts::rule_for(rules_, name, value, circumstances_);
      add(Severity::kWarning, whole_, "env-missing",
          fmt::format("{} is not set{}{}", name, rule ? ": " : "", rule ? because(*rule) : ""),
          fmt::format("{}={}", name, value));
    }
  }

  const std::vector<EnvironmentEntry>& entries_;
  const facts::EnvironmentRules& rules_;
  const facts::Circumstances& circumstances_;
  const Position& whole_;
  std::map<std::string, std::string> values_;
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
  return Judge(entries, rules, circumstances, whole).check();
}

}  // namespace muster::lint
