// Which files are Ansible's and Packer's.
#include <array>
#include <regex>

#include "base/text.h"
#include "catalog/identities.h"
#include "lint/ansible_rules.h"

namespace muster::lint {
namespace {

namespace fs = std::filesystem;

bool is_ansible(const Source& source) {
  return ansible_file(source) != AnsibleFile::kNone;
}

Findings check_ansible_file(const Source& source, const facts::Facts& known, bool& unreadable) {
  const auto document = parse_yaml(source.text, source.path.string());
  if (!document) {
    unreadable = true;
    return document.findings();
  }
  return check_ansible(source, *document, ansible_file(source), known);
}

bool is_packer(const Source& source) {
  return source.path.string().ends_with(".pkr.hcl");
}

// Where the block that opens at `open` ends.
std::size_t end_of_block(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at;
  }
  return text.size();
}

Findings check_packer(const Source& source, const facts::Facts& known, bool&) {
  const std::string file = source.path.string();
  Findings findings =
      catalog::identity_findings(source.text, file, "packer", known.public_accounts);
  static const std::regex kFilter(R"((^|\n)[ \t]*source_ami_filter[ \t]*\{)");
  static const std::regex kOwners(R"((^|\n)[ \t]*owners[ \t]*=)");
  for (std::sregex_iterator at(source.text.begin(), source.text.end(), kFilter), end; at != end;
       ++at) {
    const auto open = static_cast<std::size_t>(at->position() + at->length() - 1);
    const std::string block = source.text.substr(open, end_of_block(source.text, open) - open);
    if (std::regex_search(block, kOwners)) continue;
    findings.push_back(error_at(position_at(source.text, open, file), "packer-owner",
                                "an image is looked for by its name alone: anybody can give it",
                                "owners = [\"amazon\"]"));
  }
  return findings;
}

}  // namespace

AnsibleFile ansible_file(const Source& source) {
  const auto extension = source.path.extension();
  if (extension != ".yml" && extension != ".yaml") return AnsibleFile::kNone;
  const fs::path folder = source.path.parent_path();
  const fs::path role = folder.parent_path();
  if (role.parent_path().filename() == "roles") {
    const auto name = folder.filename();
    if (name == "tasks") return AnsibleFile::kTasks;
    if (name == "handlers") return AnsibleFile::kHandlers;
    if (name == "defaults" || name == "vars") return AnsibleFile::kVariables;
    if (name == "meta") return AnsibleFile::kMeta;
  }
  static const std::regex kPlay(R"((^|\n)(- |  )hosts:)");
  const bool is_play = source.text.find("\napiVersion:") == std::string::npos &&
                       source.text.rfind("apiVersion:", 0) != 0 &&
                       std::regex_search(source.text, kPlay);
  return is_play ? AnsibleFile::kPlaybook : AnsibleFile::kNone;
}

const Checker kAnsibleChecker{"ansible", is_ansible, check_ansible_file};
const Checker kPackerChecker{"packer", is_packer, check_packer};

}  // namespace muster::lint
