#include "architectures/plan.h"

#include <algorithm>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "architectures/cluster_rules.h"
#include "architectures/documents.h"
#include "architectures/template_blocks.h"
#include "architectures/template_model.h"
#include "architectures/values.h"

namespace muster::architectures {
namespace {

constexpr std::string_view kOutputs = "stacks.";
/// As text CloudFormation takes no more; a longer one would have to lie in a bucket.
constexpr std::size_t kLongestTemplate = 51'200;

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
    text.replace(at, what.size(), with);
  return text;
}

class Planner {
 public:
  Planner(const catalog::ClusterSpec& cluster, const catalog::Architecture& architecture,
          const Templates& templates, const facts::Facts& known)
      : templates_(templates), known_(known) {
    plan_.cluster = cluster;
    plan_.architecture = architecture;
    plan_.needs = architecture.needs;
  }

  Plan plan() {
    append(check_against(plan_.cluster, plan_.architecture, known_));
    lay_out_groups();
    lay_out_network();
    values_ = cluster_values(plan_.cluster, plan_.addresses);
    for (const catalog::StackStep& step : plan_.architecture.stacks) {
      if (!is_wanted(step.when, step.where)) continue;
      if (step.each.empty()) {
        add_stack(step, nullptr);
        continue;
      }
      for (const catalog::NodeGroup& group : plan_.cluster.groups) {
        if (group.role == step.each) add_stack(step, &group);
      }
    }
    add_documents();
    return std::move(plan_);
  }

 private:
  void append(const Findings& findings) {
    plan_.findings.insert(plan_.findings.end(), findings.begin(), findings.end());
  }

  void wrong(const Position& where, const char* rule, std::string message, std::string hint = {}) {
    plan_.findings.push_back(error_at(where, rule, std::move(message), std::move(hint)));
  }

  void lay_out_groups() {
    for (const catalog::NodeGroup& group : plan_.cluster.groups) {
      plan_.layouts.push_back(lay_out(group, instance_of(group, known_.instances)));
    }
  }

  void lay_out_network() {
    const catalog::ClusterSpec& cluster = plan_.cluster;
    if (cluster.network.existing) {
      const std::string& stack = cluster.network.existing->stack;
      plan_.needs.push_back(stack.empty() ? "the VPC, subnets and security group that are named"
                                          : fmt::format("the network stack {}", stack));
      return;
    }
    const bool pods = plan_.architecture.name.ends_with("eks");
    plan_.addresses = plan_addresses(cluster.network, cluster.zones,
                                     addresses_by_zone(plan_.layouts, cluster.zones, pods));
    append(plan_.addresses.findings);
  }

  bool is_wanted(const std::string& when, const Position& where) {
    if (when.empty()) return true;
    const bool none = when.front() == '!';
    const auto value = values_.find(none ? when.substr(1) : when);
    if (value == values_.end()) {
      wrong(where, "architecture-key", fmt::format("unknown key \"{}\"", when), nearest_key(when));
      return false;
    }
    return value->second.empty() == none;
  }

  std::string nearest_key(const std::string& key) const {
    std::vector<std::string> keys;
    for (const auto& [name, value] : values_) keys.push_back(name);
    const auto meant = did_you_mean(key, keys);
    return meant ? fmt::format("did you mean \"{}\"?", *meant) : std::string();
  }

  void add_stack(const catalog::StackStep& step, const catalog::NodeGroup* group) {
    Values values = values_;
    std::string instance;
    if (group != nullptr) {
      const facts::Instance type = instance_of(*group, known_.instances);
      instance = type.name;
      values.merge(group_values(plan_.cluster, *group, type, lay_out(*group, type)));
    }
    PlannedStack stack;
    stack.id = group != nullptr ? step.name + "-" + group->name : step.name;
    stack.name = plan_.cluster.name + "-" + stack.id;
    stack.file = stack.id + ".yaml";
    stack.capabilities = step.capabilities;
    stack.template_file = step.template_file;
    const auto text = templates_.find(step.template_file);
    if (text == templates_.end())
      return wrong(step.where, "architecture-template",
                   fmt::format("there is no template {}", step.template_file));
    const auto filled = fill_template(text->second, step.template_file, known_.instances, instance);
    if (!filled) return append(filled.findings());
    stack.template_text = *filled;
    stack.is_plain = *filled == text->second;
    if (stack.template_text.size() > kLongestTemplate)
      wrong(step.where, "template-size",
            fmt::format("{} has {} bytes, and CloudFormation takes {}", step.template_file,
                        stack.template_text.size(), kLongestTemplate));
    const auto model = read_template(stack.template_text, step.template_file);
    if (!model) return append(model.findings());
    stack.keeps = model->keeps;
    for (const catalog::ParameterSource& source : step.parameters)
      add_parameter(stack, source, values, *model, group);
    check_required(stack, step, *model);
    outputs_[step.name] = model->outputs;
    plan_.stacks.push_back(std::move(stack));
  }

  void add_parameter(PlannedStack& stack, const catalog::ParameterSource& source,
                     const Values& values, const TemplateModel& model,
                     const catalog::NodeGroup* group) {
    const TemplateParameter* parameter = model.find(source.parameter);
    if (parameter == nullptr) {
      std::vector<std::string> names;
      for (const TemplateParameter& one : model.parameters) names.push_back(one.name);
      const auto meant = did_you_mean(source.parameter, names);
      return wrong(source.where, "architecture-parameter",
                   fmt::format("{} has no parameter {}", stack.template_file, source.parameter),
                   meant ? fmt::format("did you mean \"{}\"?", *meant) : std::string());
    }
    PlannedParameter planned{source.parameter, {}, {}, {}, source.source};
    std::string from = source.source;
    if (group != nullptr) from = replaced(from, "{zone}", values.at("group.zone_index"));
    if (from.starts_with("=")) {
      planned.value = from.substr(1);
    } else if (from.starts_with(kOutputs)) {
      if (!take_output(planned, from, source.where, stack)) return;
    } else {
      const auto value = values.find(from);
      if (value == values.end())
        return wrong(source.where, "architecture-key", fmt::format("unknown key \"{}\"", from),
                     nearest_key(from));
      planned.value = value->second;
    }
    if (planned.stack.empty() && planned.value.empty()) return;
    if (planned.stack.empty()) check_value(planned, *parameter);
    stack.parameters.push_back(std::move(planned));
  }

  /// False when there is no such stack in this plan: the template's default counts then.
  bool take_output(PlannedParameter& planned, const std::string& from, const Position& where,
                   PlannedStack& stack) {
    const std::string rest = from.substr(kOutputs.size());
    const std::size_t dot = rest.find('.');
    const std::string id = rest.substr(0, dot), key = rest.substr(dot + 1);
    const auto& existing = plan_.cluster.network.existing;
    if (id == "network" && !has_zone_of(key)) return false;
    if (id == "network" && existing && existing->stack.empty()) {
      planned.value = existing_output(plan_.cluster, key).value_or("");
      return true;
    }
    if (id == "network" && existing) {
      planned.stack = existing->stack;
      planned.output = key;
      return true;
    }
    const PlannedStack* of = plan_.find(id);
    if (of == nullptr) return false;
    if (id == "storage" &&
        !(key.find("Lustre") != std::string::npos ? plan_.cluster.lustre.has_value()
                                                  : plan_.cluster.openzfs.has_value()))
      return false;
    const auto& outputs = outputs_[id];
    if (std::find(outputs.begin(), outputs.end(), key) == outputs.end()) {
      const auto meant = did_you_mean(key, outputs);
      wrong(where, "architecture-output",
            fmt::format("{} has no output {}", of->template_file, key),
            meant ? fmt::format("did you mean \"{}\"?", *meant) : std::string());
      return false;
    }
    planned.stack = of->name;
    planned.output = key;
    if (std::find(stack.needs.begin(), stack.needs.end(), of->name) == stack.needs.end())
      stack.needs.push_back(of->name);
    return true;
  }

  /// "PrivateSubnet2" is there when there are two zones.
  bool has_zone_of(const std::string& key) const {
    const char last = key.back();
    return key.find("Subnet") == std::string::npos || last < '1' || last > '9' ||
           static_cast<std::size_t>(last - '0') <= plan_.cluster.zones.size();
  }

  /// What the template would refuse, said before anything is deployed.
  void check_value(const PlannedParameter& planned, const TemplateParameter& parameter) {
    const auto& allowed = parameter.allowed;
    if (!allowed.empty() &&
        std::find(allowed.begin(), allowed.end(), planned.value) == allowed.end())
      wrong(plan_.cluster.where, "plan-value",
            fmt::format("{}: \"{}\" is not one of {}", planned.name, planned.value,
                        fmt::join(allowed, ", ")));
    if (!parameter.pattern.empty() &&
        !std::regex_match(planned.value, std::regex(parameter.pattern)))
      wrong(plan_.cluster.where, "plan-value",
            fmt::format("{}: \"{}\" does not match {}", planned.name, planned.value,
                        parameter.pattern));
  }

  void check_required(const PlannedStack& stack, const catalog::StackStep& step,
                      const TemplateModel& model) {
    std::set<std::string> given;
    for (const PlannedParameter& one : stack.parameters) given.insert(one.name);
    for (const TemplateParameter& parameter : model.parameters) {
      if (parameter.has_default || given.count(parameter.name) != 0) continue;
      const auto source = std::find_if(
          step.parameters.begin(), step.parameters.end(),
          [&](const catalog::ParameterSource& one) { return one.parameter == parameter.name; });
      if (source == step.parameters.end()) {
        wrong(
            step.where, "architecture-parameter",
            fmt::format("{} needs {}, and nothing gives it", stack.template_file, parameter.name));
      } else {
        wrong(plan_.cluster.where, "plan-missing",
              fmt::format("{} is needed for the stack {}", source->source, stack.name),
              "name it in the cluster's file");
      }
    }
  }

  void add_documents() {
    for (const catalog::DocumentStep& step : plan_.architecture.documents) {
      if (!is_wanted(step.when, step.where)) continue;
      const auto content = render_document(step.render, plan_, known_);
      if (!content) {
        wrong(step.where, "architecture-document", fmt::format("nobody renders {}", step.render),
              fmt::format("{}", fmt::join(document_names(), ", ")));
        continue;
      }
      plan_.documents.push_back({step.file, *content, step.apply});
    }
  }

  const Templates& templates_;
  const facts::Facts& known_;
  Plan plan_;
  Values values_;
  std::map<std::string, std::vector<std::string>> outputs_;
};

}  // namespace

const PlannedStack* Plan::find(const std::string& id) const {
  const auto found = std::find_if(stacks.begin(), stacks.end(),
                                  [&](const PlannedStack& stack) { return stack.id == id; });
  return found != stacks.end() ? &*found : nullptr;
}

std::string Plan::output(const std::string& id, const std::string& key) const {
  if (id == "network" && cluster.network.existing && cluster.network.existing->stack.empty())
    return existing_output(cluster, key).value_or("");
  if (id != "network" && find(id) == nullptr) return {};
  return fmt::format("${{stacks.{}.{}}}", id, key);
}

Plan plan_cluster(const catalog::ClusterSpec& cluster, const catalog::Architecture& architecture,
                  const Templates& templates, const facts::Facts& known) {
  return Planner(cluster, architecture, templates, known).plan();
}

}  // namespace muster::architectures
