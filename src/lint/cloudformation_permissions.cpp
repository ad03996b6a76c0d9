// Permissions: whether a role has the actions that the code which runs under it calls, and whether
// a policy gives more than anything needs.
#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/words.h"
#include "lint/cloudformation_conditions.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

/// What a policy allows, and under which conditions of the template.
struct CfnGrant {
  std::string action;  // lower case, with stars
  CfnGiven given;
};

bool grants(std::string_view pattern_text, std::string_view action) {
  if (pattern_text.empty()) return action.empty();
  if (pattern_text[0] == '*') {
    for (std::size_t i = 0; i <= action.size(); ++i) {
      if (grants(pattern_text.substr(1), action.substr(i))) return true;
    }
    return false;
  }
  if (action.empty() || (pattern_text[0] != '?' && pattern_text[0] != action[0])) return false;
  return grants(pattern_text.substr(1), action.substr(1));
}

// describe-instances, describe_instances -> DescribeInstances
std::string camel(std::string_view verb) {
  std::string made;
  bool upper = true;
  for (const char c : verb) {
    if (c == '-' || c == '_') {
      upper = true;
      continue;
    }
    made += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return made;
}

// Calls whose action is named otherwise, or that need none.
const std::map<std::string, std::string, std::less<>> kRenamed = {
    {"s3:cp", ""},
    {"s3:sync", ""},  // either way
    {"s3:ls", "s3:ListBucket"},
    {"s3:mb", "s3:CreateBucket"},
    {"s3:rm", "s3:DeleteObject"},
    {"s3:mv", ""},
    {"s3:presign", "s3:GetObject"},
    {"s3api:get-object", "s3:GetObject"},
    {"s3api:head-bucket", "s3:ListBucket"},
    {"s3api:list-objects-v2", "s3:ListBucket"},
    {"sts:get-caller-identity", ""},
    {"configure:set", ""},
    {"configure:get", ""},
    {"ecr:get-login-password", "ecr:GetAuthorizationToken"},
    {"s3api:get-bucket-location", "s3:GetBucketLocation"},
    {"eks:update-kubeconfig", "eks:DescribeCluster"},
    {"cloudformation:signal-resource", "cloudformation:SignalResource"},
    {"logs:tail", "logs:FilterLogEvents"},
};

struct CfnCalled {
  std::string action;  // ec2:DescribeInstances
  std::string as;      // how it is written
};

// Services by the name of their command where it is the prefix of their actions too.
const std::set<std::string, std::less<>> kServices = {"autoscaling",
                                                      "batch",
                                                      "cloudformation",
                                                      "cloudwatch",
                                                      "ec2",
                                                      "ecr",
                                                      "ecs",
                                                      "eks",
                                                      "events",
                                                      "fsx",
                                                      "iam",
                                                      "kms",
                                                      "lambda",
                                                      "logs",
                                                      "pcs",
                                                      "rds",
                                                      "s3",
                                                      "s3api",
                                                      "sagemaker",
                                                      "secretsmanager",
                                                      "ses",
                                                      "sns",
                                                      "sqs",
                                                      "ssm",
                                                      "sts"};

void add_call(std::vector<CfnCalled>& all, const std::string& service, const std::string& verb,
              std::string as) {
  if (kServices.count(service) == 0) return;
  if (service != "s3" && verb.find_first_of("-_") == std::string::npos) return;
  std::string action = service + ":" + camel(verb);
  if (const auto renamed = kRenamed.find(service + ":" + verb); renamed != kRenamed.end()) {
    if (renamed->second.empty()) return;
    action = renamed->second;
  } else if (service == "s3api") {
    action = "s3:" + camel(verb);
  }
  const bool known = std::any_of(all.begin(), all.end(),
                                 [&](const CfnCalled& one) { return one.action == action; });
  if (!known) all.push_back({std::move(action), std::move(as)});
}

// `aws ec2 describe-instances` in a script.
std::vector<CfnCalled> calls_of_shell(const std::string& text) {
  std::vector<CfnCalled> all;
  Regex::Match match;
  const Regex& call = pattern(
      "(?:^|[\\s|;&(`=\"'])aws\\s+(?:--[a-z-]+[ =]\\S+\\s+)*([a-z0-9-]+)\\s+([a-z][a-z0-9-]+)");
  for (std::size_t at = 0; call.search(text, at, match) == Regex::Found::kYes; at = match.end) {
    const std::string service(group(match, 1)), verb(group(match, 2));
    add_call(all, service, verb, fmt::format("aws {} {}", service, verb));
  }
  return all;
}

// `ec2 = boto3.client("ec2")` and `ec2.describe_instances(` in a function.
std::vector<CfnCalled> calls_of_python(const std::string& text) {
  std::map<std::string, std::string, std::less<>> clients;
  Regex::Match match;
  const Regex& made = pattern("(\\w+)\\s*=\\s*boto3\\.client\\(\\s*['\"]([a-z0-9-]+)['\"]");
  for (std::size_t at = 0; made.search(text, at, match) == Regex::Found::kYes; at = match.end)
    clients[std::string(group(match, 1))] = std::string(group(match, 2));
  std::vector<CfnCalled> all;
  const Regex& call = pattern("\\b(\\w+)\\.([a-z]+_[a-z0-9_]+)\\(");
  for (std::size_t at = 0; call.search(text, at, match) == Regex::Found::kYes; at = match.end) {
    const auto client = clients.find(group(match, 1));
    if (client == clients.end()) continue;
    const std::string verb(group(match, 2));
    static constexpr std::array<std::string_view, 4> kOwn = {
        "get_paginator", "get_waiter", "generate_presigned_url", "can_paginate"};
    if (std::find(kOwn.begin(), kOwn.end(), verb) != kOwn.end()) continue;
    if (client->second == "s3" || client->second == "sts") continue;  // many names are otherwise
    add_call(all, client->second, verb, client->first + "." + verb + "()");
  }
  return all;
}

class PermissionCheck {
 public:
  explicit PermissionCheck(CfnCheck& check) : check_(check), tree_(check.tree) {}

  void run() {
    for (const Node::Entry* function : tree_.resources_of("AWS::Lambda::Function")) {
      const Node& properties = CfnTemplate::properties(function->value);
      const Node* role = properties.find("Role");
      const Node* code = properties.find("Code");
      const Node* text = code != nullptr ? code->find("ZipFile") : nullptr;
      if (role == nullptr || text == nullptr) continue;
      judge(*function, tree_.resource_of(*role), calls_of_python(script_of(*text)), *text);
    }
    for (const char* type : {"AWS::EC2::Instance", "AWS::EC2::LaunchTemplate"}) {
      for (const Node::Entry* entry : tree_.resources_of(type)) launched(*entry);
    }
    wide();
  }

 private:
  // The text of Fn::Sub, Fn::Base64 and their like.
  static std::string script_of(const Node& node) {
    if (const auto call = cfn_call(node)) {
      if (const auto inner = call->inner()) return script_of(*call->argument);
      if (!call->text().empty()) return call->text();
      std::string all;
      for (const Node& item : call->items()) {
        if (!all.empty() && call->is("Fn::Sub")) break;
        all += script_of(item);
      }
      return all;
    }
    std::string all = node.text();
    for (const Node& item : node.items()) all += script_of(item);
    return all;
  }

  void launched(const Node::Entry& entry) {
    const Node& properties = CfnTemplate::properties(entry.value);
    const bool instance = tree_.type_of(entry.key) == "AWS::EC2::Instance";
    const Node* data = instance ? &properties : properties.find("LaunchTemplateData");
    if (data == nullptr) return;
    const Node* user_data = data->find("UserData");
    const Node* profile = data->find("IamInstanceProfile");
    if (user_data == nullptr || profile == nullptr) return;
    const Node* named = profile;
    if (!instance) {
      named = profile->find("Arn") != nullptr ? profile->find("Arn") : profile->find("Name");
    }
    if (named == nullptr) return;
    const Node::Entry* made = tree_.find("Resources", tree_.resource_of(*named));
    if (made == nullptr || tree_.type_of(made->key) != "AWS::IAM::InstanceProfile") return;
    const Node* roles = CfnTemplate::properties(made->value).find("Roles");
    if (roles == nullptr || roles->items().empty()) return;
    judge(entry, tree_.resource_of(roles->items()[0]), calls_of_shell(script_of(*user_data)),
          *user_data);
  }

  void judge(const Node::Entry& user, const std::string& role, const std::vector<CfnCalled>& calls,
             const Node& code) {
    const Node::Entry* entry = tree_.find("Resources", role);
    if (entry == nullptr || calls.empty() || tree_.type_of(role) != "AWS::IAM::Role") return;
    std::vector<CfnGrant> all;
    bool managed = false;
    collect_role(*entry, all, managed);
    for (const CfnCalled& call : calls) {
      const std::string action = lower_case(call.action);
      bool granted = false, sometimes = false;
      for (const CfnGrant& grant : all) {
        if (!grants(grant.action, action)) continue;
        const bool always = grant.given.empty() || holds_with(user, grant.given);
        granted |= always;
        sometimes |= !always;
      }
      if (granted || (managed && !sometimes)) continue;
      const std::string message =
          sometimes ? fmt::format("{} calls {}, and {} may do so in some cases only", user.key,
                                  call.as, role)
                    : fmt::format("{} calls {}, and {} may not", user.key, call.as, role);
      check_.wrong(place(code, call.as), "cfn-permission", message,
                   fmt::format("{} in a policy of {}", call.action, role));
    }
  }

  // The line of a script that says so.
  Position place(const Node& code, const std::string& words) const {
    const Position& start = code.where();
    int line = 1;
    std::size_t at = 0;
    const std::string& text = check_.source.text;
    while (line < start.line) {
      const std::size_t next = text.find('\n', at);
      if (next == std::string::npos) return start;
      at = next + 1;
      ++line;
    }
    std::string what = words;
    if (what.ends_with("()")) what.resize(what.size() - 1);
    const std::size_t found = text.find(what, at);
    if (found == std::string::npos) return start;
    const auto lines = std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                  text.begin() + static_cast<std::ptrdiff_t>(found), '\n');
    const std::size_t begin = text.rfind('\n', found);
    const std::size_t column = found - (begin == std::string::npos ? 0 : begin + 1);
    return {start.file, start.line + static_cast<int>(lines), static_cast<int>(column) + 1};
  }

  bool holds_with(const Node::Entry& user, const CfnGiven& given) const {
    CfnGiven both;
    if (const Node* condition = user.value.find("Condition"))
      both.emplace_back(condition->text(), true);
    for (const auto& [name, holds] : given) {
      CfnGiven without = both;
      without.emplace_back(name, !holds);
      if (CfnConditions(tree_).possible(without) != std::optional<bool>(false)) return false;
    }
    return true;
  }

  void collect_role(const Node::Entry& role, std::vector<CfnGrant>& all, bool& managed) {
    const Node& properties = CfnTemplate::properties(role.value);
    if (const Node* arns = properties.find("ManagedPolicyArns")) {
      // Of AWS's own policies only names are known here; those of monitoring and sessions give
      // nothing that scripts call.
      const std::function<void(const Node&)> walk = [&](const Node& node) {
        for (const Node& item : node.items()) walk(item);
        for (const Node::Entry& entry : node.entries()) walk(entry.value);
        if (!node.is_scalar() || node.text().find("policy/") == std::string::npos) return;
        static constexpr std::array<std::string_view, 4> kNarrow = {
            "AmazonSSMManagedInstanceCore", "CloudWatchAgentServerPolicy",
            "AWSLambdaBasicExecutionRole", "AmazonSSMPatchAssociation"};
        managed |= std::none_of(kNarrow.begin(), kNarrow.end(),
                                [&](std::string_view name) { return node.text().ends_with(name); });
        if (node.text().ends_with("AWSLambdaBasicExecutionRole")) all.push_back({"logs:*", {}});
        if (node.text().ends_with("AmazonSSMManagedInstanceCore")) all.push_back({"ssm:*", {}});
        if (node.text().ends_with("CloudWatchAgentServerPolicy"))
          all.push_back({"cloudwatch:putmetricdata", {}});
      };
      walk(*arns);
      for (const Node& item : arns->items()) managed |= cfn_call(item) && item.text().empty();
    }
    if (const Node* policies = properties.find("Policies")) collect(*policies, {}, all);
    for (const char* type :
         {"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"}) {
      for (const Node::Entry* policy : tree_.resources_of(type)) {
        bool of_role = false;
        for (const CfnUse& use : tree_.uses()) {
          of_role |= (use.owner == policy->key && use.name == role.key) ||
                     (use.owner == role.key && use.name == policy->key);
        }
        if (!of_role) continue;
        CfnGiven given;
        if (const Node* condition = policy->value.find("Condition"))
          given.emplace_back(condition->text(), true);
        collect(policy->value, given, all);
      }
    }
  }

  // Every Action below a node, with the conditions on the way to it.
  void collect(const Node& node, const CfnGiven& given, std::vector<CfnGrant>& all) {
    if (const auto call = cfn_call(node); call && call->is("Fn::If") && call->items().size() == 3) {
      CfnGiven branch = given;
      branch.emplace_back(call->items()[0].text(), true);
      collect(call->items()[1], branch, all);
      branch.back().second = false;
      return collect(call->items()[2], branch, all);
    }
    const Node* effect = node.find("Effect");
    const Node* actions = node.find("Action");
    if (actions != nullptr && (effect == nullptr || effect->text() == "Allow")) {
      if (actions->is_scalar()) all.push_back({lower_case(actions->text()), given});
      for (const Node& item : actions->items()) collect_action(item, given, all);
    }
    for (const Node& item : node.items()) collect(item, given, all);
    for (const Node::Entry& entry : node.entries()) collect(entry.value, given, all);
  }

  static void collect_action(const Node& item, const CfnGiven& given, std::vector<CfnGrant>& all) {
    const auto call = cfn_call(item);
    if (!call) return all.push_back({lower_case(item.text()), given});
    if (!call->is("Fn::If") || call->items().size() != 3) return;
    CfnGiven branch = given;
    branch.emplace_back(call->items()[0].text(), true);
    collect_action(call->items()[1], branch, all);
    branch.back().second = false;
    collect_action(call->items()[2], branch, all);
  }

  // Everything, on everything.
  void wide() {
    const std::function<void(const Node&)> walk = [&](const Node& node) {
      const Node* effect = node.find("Effect");
      const Node* actions = node.find("Action");
      const Node* resources = node.find("Resource");
      if (effect != nullptr && effect->text() == "Allow" && actions != nullptr) {
        std::vector<const Node*> items = {actions};
        for (const Node& item : actions->items()) items.push_back(&item);
        for (const Node* item : items) {
          if (item->text() == "*")
            check_.wrong(item->where(), "cfn-permission", "a policy that allows everything",
                         "the actions that are called");
          const bool service = item->text().ends_with(":*");
          const bool all = resources != nullptr && resources->text() == "*";
          if (service && all)
            check_.warn(item->where(), "cfn-permission",
                        fmt::format("every action of {} on every resource", item->text()),
                        "the actions that are called");
        }
      }
      for (const Node& item : node.items()) walk(item);
      for (const Node::Entry& entry : node.entries()) walk(entry.value);
    };
    for (const Node::Entry& entry : tree_.resources()) {
      if (tree_.type_of(entry.key).starts_with("AWS::IAM::"))
        walk(CfnTemplate::properties(entry.value));
    }
    for (const Node::Entry* role : tree_.resources_of("AWS::IAM::Role")) {
      const Node* arns = CfnTemplate::properties(role->value).find("ManagedPolicyArns");
      if (arns == nullptr) continue;
      const std::function<void(const Node&)> names = [&](const Node& node) {
        for (const Node& item : node.items()) names(item);
        for (const Node::Entry& entry : node.entries()) names(entry.value);
        static constexpr std::array<std::string_view, 5> kWide = {
            "/AdministratorAccess", "/AmazonS3ReadOnlyAccess", "/AmazonS3FullAccess",
            "/AmazonEC2FullAccess", "/IAMFullAccess"};
        for (const std::string_view wide_one : kWide) {
          if (node.text().ends_with(wide_one))
            check_.warn(node.where(), "cfn-permission",
                        fmt::format("{} is for the whole account", wide_one.substr(1)),
                        "a policy on the resources that are used");
        }
      };
      names(*arns);
    }
  }

  CfnCheck& check_;
  const CfnTemplate& tree_;
};

}  // namespace

void check_cfn_permissions(CfnCheck& check) {
  PermissionCheck(check).run();
}

}  // namespace muster::lint
