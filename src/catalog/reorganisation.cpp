#include "catalog/reorganisation.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace muster::catalog {
namespace {

constexpr const char* kDefaultMap = ".reorg-map.tsv";

Schema rules_schema() {
  return Schema::list(
      "Where files go; all rules hold at once, the longest path decides",
      Schema::object(
          "One rule: one of move, keep, drop, match, rename",
          {{"move", Schema::text("A file or directory, to the path `to`")},
           {"keep", Schema::text("A file or directory that stays where it is")},
           {"drop", Schema::text("A file or directory that is left out")},
           {"match", Schema::text("A pattern of whole paths; $1 in `to` is its first group")},
           {"rename", Schema::text("A pattern within directory names; `to` replaces its match")},
           {"to", Schema::text("The new path, or what replaces the match")},
           {"except", Schema::list("Paths below which match and rename do not hold",
                                   Schema::text("A path"))}}));
}

Schema names_schema(const char* doc) {
  return Schema::list(doc, Schema::text("A name"));
}

struct Verb {
  const char* key;
  MoveRule::Kind kind;
};
constexpr Verb kVerbs[] = {{"move", MoveRule::Kind::kMove},
                           {"keep", MoveRule::Kind::kKeep},
                           {"drop", MoveRule::Kind::kDrop},
                           {"match", MoveRule::Kind::kMatch},
                           {"rename", MoveRule::Kind::kRename}};

/// ".git" in any case: some file systems take them all for one.
bool is_git_directory(std::string_view name) {
  return name.size() == 4 && name[0] == '.' && (name[1] | 0x20) == 'g' && (name[2] | 0x20) == 'i' &&
         (name[3] | 0x20) == 't';
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path == "." ? std::string() : path;
}

class RuleReader {
 public:
  explicit RuleReader(Findings& findings) : findings_(findings) {}

  std::vector<MoveRule> read(const Node* list) {
    std::vector<MoveRule> rules;
    if (!list) return rules;
    for (const Node& item : list->items()) {
      if (auto rule = read_one(item)) rules.push_back(std::move(*rule));
    }
    std::map<std::string, const MoveRule*> by_path;
    for (const MoveRule& rule : rules) {
      if (rule.pattern) continue;
      const auto [other, is_new] = by_path.emplace(rule.from, &rule);
      if (!is_new) {
        findings_.push_back(error_at(rule.where, "plan-two-rules",
                                     fmt::format("\"{}\" has a rule already, at line {}", rule.from,
                                                 other->second->where.line),
                                     "rules hold at once: keep one"));
      }
    }
    return rules;
  }

 private:
  std::optional<MoveRule> read_one(const Node& item) {
    MoveRule rule;
    rule.where = item.where();
    int verbs = 0;
    for (const Verb& verb : kVerbs) {
      const Node* value = item.find(verb.key);
      if (!value) continue;
      ++verbs;
      rule.kind = verb.kind;
      rule.from = value->text();
      rule.where = value->where();
    }
    if (verbs != 1) {
      return bad(rule, "plan-rule",
                 verbs == 0 ? "the rule does nothing" : "the rule does two things",
                 "one of move, keep, drop, match, rename");
    }
    const bool pattern =
        rule.kind == MoveRule::Kind::kMatch || rule.kind == MoveRule::Kind::kRename;
    const bool goes = pattern || rule.kind == MoveRule::Kind::kMove;
    const Node* to = item.find("to");
    if (goes != (to != nullptr)) {
      return bad(rule, "plan-rule", goes ? "the rule has no `to`" : "the rule goes nowhere",
                 goes ? "to: PATH" : "remove `to`");
    }
    if (to) rule.to = to->text();
    rule.except = texts_at(item, "except");
    for (std::string& path : rule.except) path = without_slash(path);
    if (pattern) return with_pattern(std::move(rule));
    if (!rule.except.empty())
      return bad(rule, "plan-rule", "`except` belongs to match and rename", "use keep: PATH");
    rule.from = without_slash(rule.from);
    rule.to = without_slash(rule.to);
    if (!git_can_hold(rule.from) ||
        (rule.kind == MoveRule::Kind::kMove && !rule.to.empty() && !git_can_hold(rule.to))) {
      return bad(
          rule, "plan-path",
          fmt::format("git can hold no path \"{}\"", git_can_hold(rule.from) ? rule.to : rule.from),
          "a path from the root, without '.', '..' or '.git'");
    }
    return rule;
  }

  std::optional<MoveRule> with_pattern(MoveRule rule) {
    auto regex = Regex::compile(rule.from);
    if (!regex)
      return bad(rule, "plan-pattern", regex.findings().front().message, "a Perl pattern");
    rule.pattern = std::make_shared<Regex>(std::move(*regex));
    return rule;
  }

  std::optional<MoveRule> bad(const MoveRule& rule, const char* id, std::string message,
                              std::string hint) {
    findings_.push_back(error_at(rule.where, id, std::move(message), std::move(hint)));
    return std::nullopt;
  }

  Findings& findings_;
};

RepositoryPlan read_repository(const Node* node, const Node* rules, Findings& findings) {
  RepositoryPlan plan;
  if (node) {
    plan.where = node->where();
    plan.name = text_at(*node, "name");
    plan.former = texts_at(*node, "former");
    plan.branches = texts_at(*node, "branches");
    plan.from = text_at(*node, "from");
    plan.revision = text_at(*node, "revision");
  }
  plan.rules = RuleReader(findings).read(rules);
  return plan;
}

std::vector<const Node*> items_of(const Node& root, const char* key) {
  std::vector<const Node*> result;
  const Node* list = root.find(key);
  if (!list) return result;
  for (const Node& item : list->items()) result.push_back(&item);
  return result;
}

Result<Reorganisation> from_document(const Node& document, const std::string& file) {
  Findings findings = reorganisation_schema().check(document, "plan");
  if (has_errors(findings)) return Failure(std::move(findings));
  Reorganisation plan;
  plan.file = file;
  plan.name = text_at(document, "name");
  plan.pin = text_at(document, "pin");
  plan.map_path = text_at(document, "map");
  if (plan.map_path.empty()) plan.map_path = kDefaultMap;
  plan.repository = read_repository(document.find("repository"), document.find("rules"), findings);
  for (const Node* item : items_of(document, "merge"))
    plan.merged.push_back(read_repository(item, item->find("rules"), findings));
  for (const Node* item : items_of(document, "consumers")) {
    plan.consumers.push_back({text_at(*item, "name"), text_at(*item, "from"),
                              text_at(*item, "revision"), text_at(*item, "pin"), item->where()});
  }
  if (!git_can_hold(plan.map_path)) {
    findings.push_back(error_at(document.find("map")->where(), "plan-path",
                                "the map has no valid path", "a path from the root"));
  }
  if (has_errors(findings)) return Failure(std::move(findings));
  return plan;
}

}  // namespace

std::vector<const RepositoryPlan*> Reorganisation::sides() const {
  std::vector<const RepositoryPlan*> result = {&repository};
  for (const RepositoryPlan& side : merged) result.push_back(&side);
  return result;
}

const Schema& reorganisation_schema() {
  static const Schema kSchema = Schema::object(
      "A reorganisation of a repository",
      {{"apiVersion", Schema::text("Version of this form").one_of({"muster/v1"}).required()},
       {"kind", Schema::text("What this is").one_of({"Reorganisation"}).required()},
       {"name", Schema::text("What the reorganisation is called").required()},
       {"description", Schema::text("What it is for")},
       {"repository",
        Schema::object("The repository that is reorganised",
                       {{"name", Schema::text("owner/name on GitHub")},
                        {"former", names_schema("Names that it had")},
                        {"branches", names_schema("Branches whose URLs follow; default: the one "
                                                  "at hand")}})
            .optional_group()},
       {"rules", rules_schema()},
       {"merge",
        Schema::list(
            "Repositories that are merged into it",
            Schema::object("One repository",
                           {{"name", Schema::text("owner/name on GitHub").required()},
                            {"former", names_schema("Names that it had")},
                            {"branches", names_schema("Branches whose URLs follow")},
                            {"from", Schema::text("Its clone, from the plan's folder").required()},
                            {"revision", Schema::text("Which commit; default: HEAD")},
                            {"rules", rules_schema()}}))},
       {"consumers",
        Schema::list(
            "What points into the repository from outside",
            Schema::object("One consumer",
                           {{"name", Schema::text("What it is called").required()},
                            {"from", Schema::text("Its tree, from the plan's folder").required()},
                            {"revision", Schema::text("Which commit, of a clone")},
                            {"pin", Schema::text("The tag that it uses meanwhile")}}))},
       {"pin", Schema::text("A tag of the old layout")},
       {"map", Schema::text("Where the map is committed").defaults_to(kDefaultMap)}});
  return kSchema;
}

Result<Reorganisation> read_plan(std::string_view text, const std::string& file) {
  const auto document = parse_yaml(text, file);
  if (!document) return document.error();
  return from_document(*document, file);
}

Findings check_reorganisation(const Node& document) {
  const auto plan = from_document(document, document.where().file);
  return plan ? Findings() : plan.findings();
}

bool git_can_hold(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || is_git_directory(part)) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace muster::catalog
