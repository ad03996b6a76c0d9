// JobSets and LeaderWorkerSets, as their webhooks look at them.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/schema.h"
#include "lint/kubernetes_rules.h"

namespace muster::lint {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view kExclusive = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology";

// a*b > kMost, of numbers that may be large themselves.
bool too_many(std::int64_t a, std::int64_t b) {
  return a > 0 && b > 0 && a > kMost / b;
}

bool is_rule_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto word = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && text.size() <= 128 && letter(text.front()) && word(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return word(c) || c == ',' || c == ':'; });
}

// DOMAIN/PATH.
bool is_prefixed(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && slash + 1 < text.size() && text.size() <= 63 &&
         is_subdomain(text.substr(0, slash));
}

class JobSetRules {
 public:
  JobSetRules(const Node& object, RuleFindings& found) : object_(object), found_(found) {}

  void check() {
    for (const Node& job : items_at(object_, "spec.replicatedJobs"))
      jobs_.emplace(text_at(job, "name"), &job);
    names();
    sizes();
    targets("spec.successPolicy.targetReplicatedJobs", object_);
    failure_rules();
    coordinator();
    if (const Node* domain = node_at(object_, "spec.network.subdomain");
        domain && !is_service_name(domain->text()))
      found_.wrong(*domain, "kubernetes-name",
                   fmt::format("\"{}\" is no name of a Service, which it becomes", domain->text()));
    if (const Node* manager = node_at(object_, "spec.managedBy");
        manager && !is_prefixed(manager->text()))
      found_.wrong(*manager, "kubernetes-name",
                   fmt::format("\"{}\" is no name of a controller", manager->text()),
                   "DOMAIN/NAME, at most 63 characters");
  }

 private:
  static std::int64_t replicas_of(const Node& job) {
    return integer_at(job, "replicas").value_or(1);
  }

  // The longest names that the controller makes, one finding for the set.
  void names() {
    const Node* name = node_at(object_, "metadata.name");
    if (name == nullptr || name->text().find('$') != std::string::npos) return;
    for (const Node& job : items_at(object_, "spec.replicatedJobs")) {
      std::string made =
          fmt::format("{}-{}-{}", name->text(), text_at(job, "name"), replicas_of(job) - 1);
      const auto completions = integer_at(job, "template.spec.completions");
      const bool indexed = text_at(job, "template.spec.completionMode") != "NonIndexed";
      if (indexed && completions) made += fmt::format("-{}-xxxxx", *completions - 1);
      if (made.size() <= 63) continue;
      found_.wrong(
          *name, "kubernetes-name",
          fmt::format("a pod would be called \"{}\", with {} characters", made, made.size()),
          "at most 63: a shorter name of the JobSet or of its job");
      return;
    }
  }

  void sizes() {
    std::set<std::string> before;
    for (const Node& job : items_at(object_, "spec.replicatedJobs")) {
      const std::string name = text_at(job, "name");
      before.insert(name);
      if (too_many(replicas_of(job), integer_at(job, "template.spec.parallelism").value_or(1)))
        found_.wrong(job, kRangeRule,
                     fmt::format("replicas times parallelism of {} exceed {}", name, kMost));
      for (const Node& other : items_at(job, "dependsOn")) {
        if (before.count(text_at(other, "name")) == 0)
          found_.wrong(other, kReferenceRule,
                       fmt::format("{} depends on \"{}\", which is no job before it", name,
                                   text_at(other, "name")));
      }
    }
  }

  void targets(std::string_view key, const Node& root) {
    for (const Node& target : items_at(root, key)) {
      if (jobs_.count(target.text()) == 0)
        found_.wrong(target, kReferenceRule,
                     fmt::format("the JobSet has no replicated job \"{}\"", target.text()));
    }
  }

  void failure_rules() {
    std::set<std::string> names;
    for (const Node& rule : items_at(object_, "spec.failurePolicy.rules")) {
      targets("targetReplicatedJobs", rule);
      const Node* name = rule.find("name");
      if (name == nullptr || name->text().empty()) continue;
      if (!is_rule_name(name->text()))
        found_.wrong(*name, "kubernetes-name",
                     fmt::format("\"{}\" is no name of a failure policy's rule", name->text()),
                     "letters, digits, _ , : without a dash, first a letter");
      if (!names.insert(name->text()).second)
        found_.wrong(*name, kReferenceRule,
                     fmt::format("two rules are called \"{}\"", name->text()));
    }
  }

  void coordinator() {
    const Node* chosen = node_at(object_, "spec.coordinator");
    if (chosen == nullptr) return;
    const std::string name = text_at(*chosen, "replicatedJob");
    const auto found = jobs_.find(name);
    if (found == jobs_.end()) {
      return found_.wrong(*chosen, kReferenceRule,
                          fmt::format("the JobSet has no replicated job \"{}\"", name));
    }
    const Node& job = *found->second;
    const auto within = [&](const char* key, std::int64_t count, const char* what) {
      const std::int64_t index = integer_at(*chosen, key).value_or(0);
      if (index < 0 || index >= count)
        found_.wrong(
            *chosen, kReferenceRule,
            fmt::format("{} {} of {} does not exist: there are {}", what, index, name, count));
    };
    within("jobIndex", replicas_of(job), "job");
    const auto completions = integer_at(job, "template.spec.completions");
    if (!completions || text_at(job, "template.spec.completionMode") == "NonIndexed") {
      found_.wrong(*chosen, kReferenceRule,
                   fmt::format("the coordinator's job {} has no pods with numbers", name),
                   "completionMode: Indexed, and completions");
    } else {
      within("podIndex", *completions, "pod");
    }
  }

  const Node& object_;
  RuleFindings& found_;
  std::map<std::string, const Node*> jobs_;
};

class LeaderWorkerSetRules {
 public:
  LeaderWorkerSetRules(const Node& object, RuleFindings& found)
      : object_(object),
        found_(found),
        replicas_(integer_at(object, "spec.replicas").value_or(1)) {}

  void check() {
    found_.at_least(object_, "spec.replicas", 0);
    found_.at_least(object_, "spec.leaderWorkerTemplate.size", 1);
    const std::int64_t size = integer_at(object_, "spec.leaderWorkerTemplate.size").value_or(1);
    if (too_many(replicas_, size))
      found_.wrong(*object_.find("spec"), kRangeRule,
                   fmt::format("replicas times size exceed {}", kMost));
    rollout();
    if (const Node* groups = node_at(object_, "spec.leaderWorkerTemplate.subGroupPolicy")) {
      sub_groups(*groups, size);
    } else if (!annotation_of(object_, kExclusive).empty()) {
      found_.wrong(*node_at(object_, "metadata.annotations"), kReferenceRule,
                   fmt::format("{} places sub-groups, and there are none", kExclusive),
                   "leaderWorkerTemplate.subGroupPolicy");
    }
  }

 private:
  // How many of the replicas; nothing when it was found wrong.
  std::optional<std::int64_t> share(const Node& rolling, const char* key, std::int64_t normal,
                                    bool round_up) {
    const Node* value = rolling.find(key);
    if (value == nullptr || value->is_null()) return normal;
    if (const auto count = value->as_int(); count && !value->quoted()) {
      if (*count >= 0) return count;
      found_.at_least(rolling, key, 0);
      return std::nullopt;
    }
    const std::string& text = value->text();
    const bool percent = text.size() > 1 && text.size() < 6 && text.back() == '%' &&
                         text.find_first_not_of("0123456789") == text.size() - 1;
    const int amount = percent ? std::stoi(text) : 0;
    if (!percent || amount > 100) {
      found_.wrong(*value, kRangeRule, fmt::format("{} is \"{}\"", key, text),
                   "a number, or 0% to 100%");
      return std::nullopt;
    }
    return (amount * replicas_ + (round_up ? 99 : 0)) / 100;
  }

  void rollout() {
    const Node* rolling = node_at(object_, "spec.rolloutStrategy.rollingUpdateConfiguration");
    if (rolling == nullptr) return;
    const auto unavailable = share(*rolling, "maxUnavailable", 1, false);
    const auto surge = share(*rolling, "maxSurge", 0, true);
    if (unavailable == 0 && surge == 0 && replicas_ != 0)
      found_.wrong(*rolling, kRangeRule,
                   "nothing may be missing and nothing added: no update gets on",
                   "maxUnavailable: 1");
  }

  void sub_groups(const Node& groups, std::int64_t size) {
    const auto each = integer_at(groups, "subGroupSize");
    if (!each) return;
    if (*each < 1) return found_.at_least(groups, "subGroupSize", 1);
    const bool without_leader = text_at(groups, "subGroupPolicyType") == "LeaderExcluded";
    if (*each > size) {
      found_.wrong(groups, kRangeRule,
                   fmt::format("sub-groups of {} in a group of {}", *each, size));
    } else if ((size - 1) % *each != 0 && (without_leader || size % *each != 0)) {
      found_.wrong(groups, kRangeRule,
                   fmt::format("{} pods {}don't part into sub-groups of {}", size,
                               without_leader ? "less the leader " : "", *each));
    }
  }

  const Node& object_;
  RuleFindings& found_;
  const std::int64_t replicas_;
};

}  // namespace

void check_sets(const Node& object, const std::string& kind, RuleFindings& found) {
  if (kind == "JobSet") JobSetRules(object, found).check();
  if (kind == "LeaderWorkerSet") LeaderWorkerSetRules(object, found).check();
}

}  // namespace muster::lint
