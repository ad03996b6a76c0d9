#include "lint/ansible_rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/schema.h"
#include "catalog/identities.h"
#include "catalog/versions.h"
#include "lint/environment.h"

namespace muster::lint {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string>& play_keys() {
  static const std::vector<std::string> kKeys = {"any_errors_fatal",
                                                 "become",
                                                 "become_exe",
                                                 "become_flags",
                                                 "become_method",
                                                 "become_user",
                                                 "check_mode",
                                                 "collections",
                                                 "connection",
                                                 "debugger",
                                                 "diff",
                                                 "environment",
                                                 "fact_path",
                                                 "force_handlers",
                                                 "gather_facts",
                                                 "gather_subset",
                                                 "gather_timeout",
                                                 "handlers",
                                                 "hosts",
                                                 "ignore_errors",
                                                 "ignore_unreachable",
                                                 "import_playbook",
                                                 "max_fail_percentage",
                                                 "module_defaults",
                                                 "name",
                                                 "no_log",
                                                 "order",
                                                 "port",
                                                 "post_tasks",
                                                 "pre_tasks",
                                                 "remote_user",
                                                 "roles",
                                                 "run_once",
                                                 "serial",
                                                 "strategy",
                                                 "tags",
                                                 "tasks",
                                                 "throttle",
                                                 "timeout",
                                                 "vars",
                                                 "vars_files",
                                                 "vars_prompt",
                                                 "when"};
  return kKeys;
}

// A module by its short name: ansible.builtin.git is git.
std::string module_name(const std::string& key) {
  return key.substr(key.rfind('.') == std::string::npos ? 0 : key.rfind('.') + 1);
}

// What a task hands to a module: a mapping, or the free form.
struct Module {
  std::string name;
  const Node* value = nullptr;
  Position where;

  std::string argument(const char* key) const {
    return value->is_mapping() ? text_at(*value, key) : std::string();
  }
};

bool is_templated(const std::string& text) {
  return text.find("{{") != std::string::npos;
}

/// The text of a blockinfile's marker, or Ansible's own.
std::string marker_of(const Module& module) {
  const std::string marker = module.argument("marker");
  return marker.empty() ? "# {mark} ANSIBLE MANAGED BLOCK" : marker;
}

struct Block {
  std::string path, marker;
  Position where;
};

class Walk {
 public:
  Walk(const Source& source, const facts::Facts& known, bool handlers)
      : source_(source), known_(known), handlers_(handlers) {}

  Findings findings;
  std::vector<Block> blocks;  ///< of blockinfile, in order

  void play(const Node& node) {
    if (!node.is_mapping()) return form(node.where(), "a play is a mapping");
    for (const Node::Entry& entry : node.entries()) {
      const auto& keys = play_keys();
      if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
        const auto meant = did_you_mean(entry.key, keys);
        add(entry.where, "ansible-form", fmt::format("a play has no \"{}\"", entry.key),
            meant ? fmt::format("did you mean \"{}\"?", *meant) : "");
      }
      if (entry.key == "roles") roles(entry.value);
      if (entry.key == "tasks" || entry.key == "pre_tasks" || entry.key == "post_tasks" ||
          entry.key == "handlers")
        tasks(entry.value);
    }
  }

  void roles(const Node& list) {
    if (!list.is_sequence()) return form(list.where(), "roles are a list");
    for (const Node& item : list.items()) {
      const Node* name = item.is_mapping() ? item.find("role") : &item;
      if (item.is_mapping() && !name) name = item.find("name");
      if (name && name->is_scalar()) role(*name);
    }
  }

  void tasks(const Node& list) {
    if (list.is_null()) return;
    if (!list.is_sequence()) return form(list.where(), "tasks are a list");
    for (const Node& item : list.items()) {
      if (!item.is_mapping()) {
        form(item.where(), "a task is a mapping");
        continue;
      }
      for (const char* part : {"block", "rescue", "always"}) {
        if (const Node* inner = item.find(part)) tasks(*inner);
      }
      for (const Node::Entry& entry : item.entries())
        module(item, {module_name(entry.key), &entry.value, entry.where});
    }
  }

 private:
  void add(const Position& where, const char* rule, std::string message, std::string hint = {}) {
    findings.push_back(error_at(where, rule, std::move(message), std::move(hint)));
  }
  void form(const Position& where, const char* message) { add(where, "ansible-form", message); }

  // The folders of roles that a file's playbook may mean: beside it, and above it up to the
  // project.
  std::vector<fs::path> folders_of_roles() const {
    std::vector<fs::path> folders;
    const fs::path root = fs::absolute(source_.root).lexically_normal();
    fs::path folder = fs::absolute(source_.path).lexically_normal().parent_path();
    for (int depth = 0; depth < 12 && folder.has_relative_path(); ++depth) {
      if (folder.filename() == "roles") folders.push_back(folder);
      if (source_.files->exists(folder / "roles")) folders.push_back(folder / "roles");
      if (folder == root) break;
      folder = folder.parent_path();
    }
    return folders;
  }

  void role(const Node& node) {
    const std::string& name = node.text();
    // Names with a dot come from collections, which are installed.
    if (!source_.files || is_templated(name) || name.find('.') != std::string::npos) return;
    const auto folders = folders_of_roles();
    if (std::any_of(folders.begin(), folders.end(),
                    [&](const fs::path& folder) { return source_.files->exists(folder / name); }))
      return;
    std::vector<std::string> names;
    for (const fs::path& folder : folders) {
      if (const auto found = source_.files->list(folder))
        names.insert(names.end(), found->begin(), found->end());
    }
    const auto meant = did_you_mean(name, names);
    add(node.where(), "ansible-role-missing", fmt::format("there is no role {}", name),
        meant ? fmt::format("did you mean \"{}\"?", *meant) : "a folder of roles/ with that name");
  }

  void module(const Node& task, const Module& module) {
    if (module.name == "include_role" || module.name == "import_role") {
      if (const Node* name = module.value->is_mapping() ? module.value->find("name") : nullptr)
        role(*name);
    } else if (module.name == "git") {
      git(module);
    } else if (module.name == "command" || module.name == "shell" || module.name == "raw" ||
               module.name == "script") {
      command(task, module);
    } else if (module.name == "blockinfile") {
      blocks.push_back(
          {module.argument("path") + module.argument("dest"), marker_of(module), module.where});
    } else if (module.name == "sysctl") {
      if (module.argument("name") == "net.ipv4.tcp_congestion_control")
        congestion(module.argument("value"), module.where);
    } else if (module.name == "copy") {
      text(module.argument("content"), module.where);
      file(module);
    }
    latest(module);
  }

  void git(const Module& module) {
    const std::string version = module.argument("version");
    if (module.value->is_mapping() && !is_templated(version) &&
        (catalog::is_floating_version(version) || version == "HEAD" || version == "develop")) {
      add(module.where, "ansible-clone",
          version.empty() ? "a repository is cloned at no tag or commit"
                          : fmt::format("{} can be another commit tomorrow", version),
          "version: a tag or a commit");
    }
  }

  void command(const Node& task, const Module& module) {
    std::string line = module.value->is_scalar() ? module.value->text() : module.argument("cmd");
    if (line.find("git clone") != std::string::npos && line.find("--branch") == std::string::npos &&
        line.find(" -b ") == std::string::npos && line.find("git checkout") == std::string::npos) {
      add(module.where, "ansible-clone", "a repository is cloned at no tag or commit",
          "git clone --branch TAG");
    }
    const auto guards = [](const Node* node) {
      return node && node->is_mapping() && (node->find("creates") || node->find("removes"));
    };
    const bool guarded =
        handlers_ || task.find("changed_when") || guards(module.value) || guards(task.find("args"));
    if (guarded) return;
    findings.push_back(warning_at(module.where, "ansible-unguarded",
                                  "the command runs again each time, and counts as a change",
                                  "creates:, or changed_when:"));
  }

  void latest(const Module& module) {
    static const std::set<std::string> kPackages = {"apt", "dnf", "yum", "package", "pip"};
    if (kPackages.count(module.name) && module.argument("state") == "latest" &&
        module.argument("name") != "*") {
      add(module.where, "ansible-floating", "state: latest is another version tomorrow",
          "the version in the name, state: present");
    }
    if (module.name != "get_url" && module.name != "unarchive") return;
    const std::string address = module.argument(module.name == "get_url" ? "url" : "src");
    if (address.find("latest") != std::string::npos)
      add(module.where, "ansible-floating", fmt::format("{} is another file tomorrow", address),
          "the address of one version, and its checksum");
  }

  void congestion(const std::string& value, const Position& where) {
    static const std::vector<std::string> kKnown = {
        "bbr", "bic", "cdg", "cubic", "dctcp", "htcp", "illinois", "reno", "vegas", "westwood"};
    if (value.empty() || is_templated(value) ||
        std::find(kKnown.begin(), kKnown.end(), value) != kKnown.end())
      return;
    const auto meant = did_you_mean(value, kKnown);
    add(where, "ansible-congestion",
        fmt::format("the kernel has no congestion control \"{}\"", value),
        meant ? fmt::format("did you mean \"{}\"?", *meant) : "bbr");
  }

  // A file that is written: settings of the kernel, variables of the fabric.
  void text(const std::string& content, const Position& where) {
    constexpr std::string_view kKey = "net.ipv4.tcp_congestion_control";
    for (std::size_t at = content.find(kKey); at != std::string::npos;
         at = content.find(kKey, at + 1)) {
      const std::size_t value = content.find_first_not_of(" =\t", at + kKey.size());
      if (value == std::string::npos) break;
      congestion(content.substr(value, content.find_first_of(" \t\r\n", value) - value), where);
    }
    auto entries = parse_environment_text(content, source_.path.string());
    for (EnvironmentEntry& entry : entries) entry.where = where;
    for (Finding& found : check_environment_entries(entries, known_.environment, {}))
      findings.push_back(std::move(found));
  }

  void file(const Module& module) {
    const std::string name = module.argument("src");
    if (!source_.files || name.empty() || is_templated(name) || name[0] == '/') return;
    const auto content =
        source_.files->read(source_.path.parent_path().parent_path() / "files" / name);
    if (content) text(*content, module.where);
  }

  const Source& source_;
  const facts::Facts& known_;
  bool handlers_;
};

// Blocks of one file and one marker, here and in the task files of the role before this one.
void check_markers(const Source& source, const Walk& walk, const facts::Facts& known,
                   Findings& findings) {
  std::vector<Block> before;
  const auto names = source.files ? source.files->list(source.path.parent_path())
                                  : Result<std::vector<std::string>>(std::vector<std::string>());
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const fs::path path = source.path.parent_path() / name;
    if (path >= source.path || path.extension() != source.path.extension()) continue;
    const auto text = source.files->read(path);
    const auto document = text ? parse_yaml(*text, path.string()) : Result<Node>(text.error());
    if (!document) continue;
    Walk other(source, known, false);
    other.tasks(*document);
    before.insert(before.end(), other.blocks.begin(), other.blocks.end());
  }
  for (const Block& block : walk.blocks) {
    const auto first = std::find_if(before.begin(), before.end(), [&](const Block& other) {
      return std::tie(other.path, other.marker) == std::tie(block.path, block.marker);
    });
    if (first != before.end()) {
      findings.push_back(
          error_at(block.where, "ansible-marker",
                   fmt::format("the block in {} overwrites that of {}: both have one marker",
                               block.path, to_string(first->where)),
                   "a marker: of its own for each"));
    }
    before.push_back(block);
  }
}

}  // namespace

Findings check_ansible(const Source& source, const Node& document, AnsibleFile kind,
                       const facts::Facts& known) {
  Walk walk(source, known, kind == AnsibleFile::kHandlers);
  if (kind == AnsibleFile::kPlaybook) {
    if (!document.is_sequence()) {
      walk.findings.push_back(
          error_at(document.where(), "ansible-form", "a playbook is a list of plays"));
    }
    for (const Node& play : document.items()) walk.play(play);
  } else if (kind == AnsibleFile::kTasks || kind == AnsibleFile::kHandlers) {
    walk.tasks(document);
    check_markers(source, walk, known, walk.findings);
  } else if (const Node* dependencies =
                 document.is_mapping() ? document.find("dependencies") : nullptr) {
    if (kind == AnsibleFile::kVariables) {
      walk.findings.push_back(error_at(dependencies->where(), "ansible-defaults-dependency",
                                       "dependencies here are a variable that nobody reads",
                                       "meta/main.yml of the role"));
    } else {
      walk.roles(*dependencies);
    }
  }
  Findings identities = catalog::identity_findings(source.text, source.path.string(), "ansible",
                                                   known.public_accounts);
  std::move(identities.begin(), identities.end(), std::back_inserter(walk.findings));
  return std::move(walk.findings);
}

}  // namespace muster::lint
