// How a cluster stands, and what differs between its file and what is deployed.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "architectures/clusters.h"
#include "architectures/deploy_common.h"
#include "base/output.h"
#include "base/text.h"

namespace muster::architectures {
namespace {

using Json = nlohmann::ordered_json;

std::string without_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

class Look : ClusterWork {
 public:
  using ClusterWork::ClusterWork;

  ClusterReport status() {
    const auto all = stacks_.all();
    if (!all) {
      fail(all.findings(), kExitUnverified);
      return std::move(report_);
    }
    bool bad = false, unsure = false;
    for (const PlannedStack& step : plan_.stacks) {
      StackStanding standing = stand(step.name, *all);
      if (standing.status.empty()) {
        standing.action = "absent";
        bad = true;
      }
      standing.keeps = step.keeps;
      report_.stacks.push_back(std::move(standing));
    }
    for (const DeployedStack& stack : *all) {
      const bool known = std::any_of(report_.stacks.begin(), report_.stacks.end(),
                                     [&](const auto& one) { return one.name == stack.name; });
      if (known || !is_ours(stack) || stack.status == "DELETE_COMPLETE") continue;
      StackStanding standing = stand(stack.name, *all);
      standing.planned = false;
      report_.stacks.push_back(std::move(standing));
    }
    for (const StackStanding& one : report_.stacks) {
      DeployedStack state;
      state.status = one.status;
      if (one.status.empty()) continue;
      if (state.is_moving() || !one.unknown.empty()) unsure = true;
      if (!state.is_moving() && !state.is_complete()) bad = true;
    }
    if (report_.code == kExitOk)
      report_.code = bad ? kExitFailed : unsure ? kExitUnverified : kExitOk;
    return std::move(report_);
  }

  ClusterReport differences() {
    if (!take_foreign_outputs()) return std::move(report_);
    bool differs = false;
    for (const PlannedStack& step : plan_.stacks) {
      StackStanding standing;
      standing.name = step.name;
      if (!compare_stack(step, standing)) return std::move(report_);
      differs = differs || !standing.differences.empty();
      report_.stacks.push_back(std::move(standing));
    }
    if (differs) report_.code = kExitDiffers;
    return std::move(report_);
  }

 private:
  StackStanding stand(const std::string& name, const std::vector<DeployedStack>& all) {
    StackStanding standing;
    standing.name = name;
    for (const DeployedStack& stack : all) {
      if (stack.name != name || stack.status == "DELETE_COMPLETE") continue;
      standing.status = stack.status;
      if (!is_ours(stack)) standing.reason = "not of this cluster";
      if (stack.is_complete()) {
        see_resources(standing);
      } else if (!stack.is_moving()) {
        const auto reason = stacks_.reason(name);
        standing.reason = reason && !reason->empty() ? *reason : stack.reason;
      }
    }
    return standing;
  }

  bool compare_stack(const PlannedStack& step, StackStanding& standing) {
    const auto found = stacks_.find(step.name);
    if (!found) return fail(found.findings(), kExitUnverified);
    if (!*found) {
      standing.differences.emplace_back("is not deployed");
      return true;
    }
    const DeployedStack& stack = **found;
    standing.status = stack.status;
    if (!is_ours(stack)) {
      standing.differences.emplace_back("is not of this cluster");
      return true;
    }
    take_outputs(stack);
    if (!stack.is_complete()) standing.differences.push_back("is " + stack.status);
    const auto text = stacks_.template_of(step.name);
    if (!text) return fail(text.findings(), kExitUnverified);
    if (without_end(*text) != without_end(step.template_text))
      standing.differences.emplace_back("the template is another");
    compare_parameters(step, stack, standing);
    if (!options_.drift) return true;
    const auto drifted = stacks_.drift(step.name, seams_.clock, options_.limit);
    if (!drifted) return fail(drifted.findings(), kExitUnverified);
    for (const std::string& one : *drifted) standing.differences.push_back("drifted: " + one);
    return true;
  }

  void compare_parameters(const PlannedStack& step, const DeployedStack& stack,
                          StackStanding& standing) {
    for (const PlannedParameter& one : step.parameters) {
      std::string wanted = one.value;
      if (!one.stack.empty()) {
        const auto output = outputs_.find(one.stack + "." + one.output);
        wanted = output != outputs_.end() ? output->second : "";
      }
      const auto has = stack.parameters.find(one.name);
      const std::string deployed = has != stack.parameters.end() ? has->second : "";
      if (deployed != wanted)
        standing.differences.push_back(
            fmt::format("{} is \"{}\", not \"{}\"", one.name, deployed, wanted));
    }
  }
};

/// Names first; an emulator lists resources that have not even one.
std::string unknown_text(const StackStanding& stack) {
  std::vector<std::string> words;
  std::size_t nameless = 0;
  for (const std::string& name : stack.unknown) {
    if (name.empty()) {
      ++nameless;
    } else {
      words.push_back(name);
    }
  }
  if (nameless > 0) words.push_back(fmt::format("{} without a name", nameless));
  return fmt::format("{}", fmt::join(words, ", "));
}

Json to_json(const StackStanding& stack) {
  Json item = {{"name", stack.name}, {"status", stack.status}, {"planned", stack.planned}};
  if (!stack.action.empty()) item["action"] = stack.action;
  if (!stack.reason.empty()) item["reason"] = stack.reason;
  item["resources"] = stack.resources;
  item["unknown"] = stack.unknown;
  item["differences"] = stack.differences;
  item["keeps"] = stack.keeps;
  return item;
}

}  // namespace

ClusterReport look(const Plan& plan, const DeploySeams& seams) {
  return Look(plan, seams, {}).status();
}

ClusterReport compare(const Plan& plan, const DeploySeams& seams, const DeployOptions& options) {
  return Look(plan, seams, options).differences();
}

Json to_json(const ClusterReport& report) {
  Json data = {{"cluster", report.cluster}, {"stacks", Json::array()}};
  for (const StackStanding& stack : report.stacks) data["stacks"].push_back(to_json(stack));
  data["files"] = report.files;
  data["findings"] = muster::to_json(report.findings);
  return data;
}

std::string to_text(const ClusterReport& report) {
  std::string text;
  for (const StackStanding& stack : report.stacks) {
    text += stack.name;
    if (!stack.status.empty()) text += "  " + stack.status;
    if (!stack.action.empty()) text += "  " + stack.action;
    if (stack.resources > 0) text += fmt::format("  {} resources", stack.resources);
    if (!stack.planned) text += "  not in the file";
    text += "\n";
    if (!stack.reason.empty()) text += fmt::format("  {}\n", stack.reason);
    if (!stack.unknown.empty())
      text += fmt::format("  unknown (emulator): {}\n", unknown_text(stack));
    for (const std::string& one : stack.differences) text += fmt::format("  {}\n", one);
    if (stack.action == "deleted" && !stack.keeps.empty())
      text += fmt::format("  kept: {}\n", fmt::join(stack.keeps, ", "));
  }
  for (const std::string& file : report.files) text += "wrote " + file + "\n";
  return text;
}

}  // namespace muster::architectures
