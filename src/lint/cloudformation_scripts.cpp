// What instances and functions run: downloads that change under their name, signals that nobody
// waits for, helpers that look for another resource, user data that no reader takes.
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "base/words.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

class ScriptCheck {
 public:
  explicit ScriptCheck(CfnCheck& check) : check_(check), tree_(check.tree) {}

  void resource(const Node::Entry& entry) {
    if (entry.value.is_mapping()) {
      for (const Node::Entry& part : entry.value.entries()) walk(part.value, part.key);
    }
  }

 private:
  void walk(const Node& node, std::string_view key) {
    for (const Node& item : node.items()) walk(item, key);
    for (const Node::Entry& entry : node.entries()) walk(entry.value, entry.key);
    if (!node.is_scalar() || node.text().size() < 8) return;
    script(node);
  }

  // Where in the file something of a text stands: its words are looked up from where it starts.
  Position place(const Node& node, std::string_view words) const {
    std::size_t at = 0;
    const std::string& text = check_.source.text;
    for (int line = 1; line < node.where().line; ++line) {
      at = text.find('\n', at);
      if (at == std::string::npos) return node.where();
      ++at;
    }
    const std::size_t found = text.find(words, at);
    if (found == std::string::npos) return node.where();
    Position where = position_at(text, found, node.where().file);
    return where;
  }

  void script(const Node& node) {
    const std::string& text = node.text();
    downloads(node, text);
    helpers(node, text);
    mime(node, text);
    directory(node, text);
    secrets(node, text);
    if (text.find(".objects.all().delete()") != std::string::npos ||
        text.find(".object_versions.delete()") != std::string::npos ||
        text.find(".object_versions.all().delete()") != std::string::npos)
      check_.warn(place(node, ".delete()"), "cfn-empties-bucket",
                  "deleting the stack deletes everything in the bucket, also what it did not make",
                  "DeletionPolicy: Retain, or delete what was put there");
  }

  // What a branch or "latest" holds changes from one deployment to the next.
  void downloads(const Node& node, const std::string& text) {
    Regex::Match match;
    const Regex& moving = pattern(
        "(raw\\.githubusercontent\\.com/[^/\\s]+/[^/\\s]+/(refs/heads/)?(main|master|HEAD|develop)/"
        "|github\\.com/[^/\\s]+/[^/\\s]+/(raw|archive)/(refs/heads/)?(main|master)"
        "|codeload\\.github\\.com/\\S+/(main|master)"
        "|api\\.github\\.com/repos/[^/\\s]+/[^/\\s]+/contents)");
    if (finds(moving, text, match)) {
      const std::string what = text.substr(match.begin, match.end - match.begin);
      check_.wrong(place(node, what), "cfn-unpinned",
                   fmt::format("{} is another thing after each change there", what),
                   "a tag or a commit");
    }
    const Regex& clone = pattern("git clone (?![^\\n]*(--branch|-b )\\s*v?\\d)[^\\n]*");
    std::size_t at = 0;
    while (clone.search(text, at, match) == Regex::Found::kYes) {
      at = match.end;
      const std::string rest = text.substr(match.end, 400);
      if (rest.find("git checkout") != std::string::npos || rest.find("reset --hard") != rest.npos)
        continue;
      const std::string what = text.substr(match.begin, match.end - match.begin);
      if (what.find("--branch") != std::string::npos || what.find(" -b ") != std::string::npos) {
        if (what.find("main") == std::string::npos && what.find("master") == std::string::npos)
          continue;
      }
      check_.wrong(place(node, what), "cfn-unpinned", "a repository cloned at no tag or commit",
                   "--branch with a tag");
      break;
    }
    const Regex& archive =
        pattern("(?:curl|wget)[^\\n]*https?://\\S+\\.(?:tar\\.gz|tgz|tar\\.xz|zip|run|deb|rpm)");
    if (finds(archive, text, match) && text.find("sha256") == std::string::npos &&
        text.find("sha512") == std::string::npos && text.find("gpg ") == std::string::npos &&
        text.find("md5sum") == std::string::npos) {
      const std::string what =
          text.substr(match.begin, std::min<std::size_t>(match.end - match.begin, 40));
      check_.warn(place(node, what.substr(0, what.find('\n'))), "cfn-unverified",
                  "an archive is installed that nothing verifies", "sha256sum -c with its digest");
    }
  }

  // cfn-init, cfn-signal and cfn-hup name a resource: the one whose metadata or policy they mean.
  void helpers(const Node& node, const std::string& text) {
    Regex::Match match;
    const Regex& helper = pattern("(cfn-init|cfn-signal|cfn-hup)\\b([^\\n]*(?:\\\\\\n[^\\n]*)*)");
    for (std::size_t at = 0; helper.search(text, at, match) == Regex::Found::kYes; at = match.end) {
      const std::string program(group(match, 1)), rest(group(match, 2));
      const std::string whole_call = text.substr(match.begin, match.end - match.begin);
      Regex::Match option;
      if (!finds(pattern("(?:--resource|-r)[ =]+([A-Za-z0-9]+)"), rest, option)) continue;
      const std::string name(group(option, 1));
      const Node::Entry* target = tree_.find("Resources", name);
      const Position where = place(node, program);
      if (target == nullptr) {
        std::vector<std::string> names;
        for (const Node::Entry& entry : tree_.resources()) names.push_back(entry.key);
        const auto near = did_you_mean(name, names);
        check_.wrong(where, "cfn-helper", fmt::format("{} names no resource: {}", program, name),
                     near ? fmt::format("did you mean {}?", *near) : "");
      } else if (program == "cfn-signal") {
        const bool group_update =
            target->value.find("UpdatePolicy") != nullptr &&
            target->value.find("UpdatePolicy")->find("AutoScalingRollingUpdate") != nullptr;
        if (target->value.find("CreationPolicy") == nullptr && !group_update)
          check_.wrong(where, "cfn-signal",
                       fmt::format("nothing waits for this signal: {} has no CreationPolicy", name),
                       "CreationPolicy: {ResourceSignal: {Timeout: PT15M}}");
      } else if (program == "cfn-init") {
        init(*target, rest, where);
      }
    }
  }

  void init(const Node::Entry& target, const std::string& rest, const Position& where) {
    const Node* metadata = target.value.find("Metadata");
    const Node* init = metadata != nullptr ? metadata->find("AWS::CloudFormation::Init") : nullptr;
    if (init == nullptr) {
      return check_.wrong(where, "cfn-helper",
                          fmt::format("{} has no AWS::CloudFormation::Init to apply", target.key));
    }
    Regex::Match option;
    if (!finds(pattern("(?:--configsets?|-c)[ =]+([A-Za-z0-9_,]+)"), rest, option)) return;
    const Node* sets = init->find("configSets");
    std::string names(group(option, 1));
    for (std::size_t start = 0; start <= names.size();) {
      const std::size_t comma = std::min(names.find(',', start), names.size());
      const std::string one = names.substr(start, comma - start);
      start = comma + 1;
      if (sets == nullptr || sets->find(one) == nullptr)
        check_.wrong(where, "cfn-helper", fmt::format("{} has no config set {}", target.key, one));
    }
  }

  // The last boundary of a message of several parts ends with two dashes.
  void mime(const Node& node, const std::string& text) {
    Regex::Match match;
    if (!finds(pattern("boundary=\"?([^\"\\s;]+)\"?"), text, match)) return;
    const std::string boundary(group(match, 1));
    if (text.find("MIME-Version") == std::string::npos) return;
    if (text.find("--" + boundary) == std::string::npos ||
        text.find("--" + boundary + "--") != std::string::npos)
      return;
    check_.wrong(place(node, "boundary="), "cfn-mime",
                 "the message of several parts has no end: its last boundary lacks the closing --",
                 "--" + boundary + "--");
  }

  void directory(const Node& node, const std::string& text) {
    Regex::Match match;
    if (finds(pattern("ldap_uri\\s*=\\s*ldap://"), text, match))
      check_.wrong(place(node, "ldap_uri"), "cfn-directory",
                   "passwords cross the network in clear text",
                   "ldaps://, or ldap_id_use_start_tls");
    if (finds(pattern("(?m)^\\s*enumerate\\s*=\\s*[Tt]rue"), text, match))
      check_.warn(place(node, "enumerate"), "cfn-directory",
                  "every node reads the whole directory again and again", "enumerate = false");
    // olcDatabase and friends take what slapd knows as attributes of a group.
    const Regex& group_entry =
        pattern("ldapadd[^\\n]*<<[^\\n]*\\n(?:[^\\n]*\\n)*?\\s*changetype:\\s*modify");
    if (finds(group_entry, text, match))
      check_.wrong(place(node, "ldapadd"), "cfn-directory",
                   "ldapadd of a change: it adds entries only", "ldapmodify");
  }

  // A secret's ARN ends in six random characters: one that is put together names none.
  void secrets(const Node& node, const std::string& text) {
    Regex::Match match;
    const Regex& arn = pattern(
        ":secretsmanager:(?:\\$\\{[^}]*\\}|[^:\\s])*:(?:\\$\\{[^}]*\\}|[^:\\s])*:secret:([^\\s\"',]"
        "+)");
    if (!finds(arn, text, match)) return;
    const std::string name(group(match, 1));
    if (name.ends_with('*') || name.ends_with("??????") || name.ends_with("-${Suffix}")) return;
    Regex::Match suffix;
    if (finds(pattern("-[A-Za-z0-9]{6}$"), name, suffix) && name.find("${") == std::string::npos)
      return;
    check_.wrong(place(node, ":secretsmanager:"), "cfn-secret-arn",
                 "the ARN of a secret ends in six random characters: this names none",
                 "!Ref of the secret");
  }

  CfnCheck& check_;
  const CfnTemplate& tree_;
};

}  // namespace

void check_cfn_scripts(CfnCheck& check) {
  ScriptCheck rules(check);
  for (const Node::Entry& entry : check.tree.resources()) rules.resource(entry);
}

}  // namespace muster::lint
