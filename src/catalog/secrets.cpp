#include "catalog/secrets.h"

#include <regex>

#include <fmt/format.h>

namespace muster::catalog {
namespace {

void walk(const Node& node, const std::string& name, const std::string& rule, Findings& findings) {
  if (node.is_scalar() && looks_like_secret(name, node.text())) {
    findings.push_back(error_at(node.where(), rule, fmt::format("{} looks like a secret", name),
                                "list it under secrets by name, or pass it in the environment"));
  }
  // Under `secrets` stand names of variables and where they are kept.
  for (const Node& item : node.items()) walk(item, name, rule, findings);
  for (const Node::Entry& entry : node.entries()) {
    walk(entry.value, name == "secrets" || name == "from" ? "from" : entry.key, rule, findings);
  }
}

}  // namespace

bool looks_like_secret(const std::string& name, const std::string& value) {
  static const std::regex kValue(
      R"(\b(hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})"
      R"(|(AKIA|ASIA)[A-Z0-9]{16}|xox[abprs]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{20,}|nvapi-[A-Za-z0-9_-]{20,})"
      R"(|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+))"
      R"(|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]+:[^/\s:@$]+@)");
  static const std::regex kName(
      R"((.*[_.-])?(token|password|passwd|secret|api_?key|access_?key(_id)?|private_?key|credentials?))",
      std::regex::icase);
  if (std::regex_search(value, kValue)) return true;
  const bool reference = value.rfind("${", 0) == 0 && value.find('}') == value.size() - 1;
  return !value.empty() && !reference && std::regex_match(name, kName);
}

Findings find_secrets(const Node& document, const std::string& rule) {
  Findings findings;
  walk(document, "", rule, findings);
  return findings;
}

}  // namespace muster::catalog
