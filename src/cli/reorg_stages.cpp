// muster reorg stages: the steps of a reorganisation with consumers that lag, walked in every
// order.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/reorg.h"
#include "reorg/stages.h"

namespace muster::cli {
namespace {

struct StagesCommand {
  std::string plan;
  std::vector<std::string> order;
  bool ungated = false;
  bool all = false;
};

/// What CI runs before a step: it fails until the step may be taken.
std::string gate(reorg::StepKind kind, const reorg::Plan& plan, const std::string& file) {
  const std::string tag = plan.pin.empty() ? "TAG" : plan.pin;
  switch (kind) {
    case reorg::StepKind::kTag:
      return "git rev-parse --verify HEAD";
    case reorg::StepKind::kPin:
      return fmt::format("git rev-parse --verify refs/tags/{}", tag);
    case reorg::StepKind::kMove:
      return fmt::format("muster reorg consumers {} --check", file);
    case reorg::StepKind::kFollow:
      return fmt::format("muster reorg check {}", file);
  }
  return {};
}

nlohmann::ordered_json stage_json(const reorg::StageReport& report) {
  nlohmann::ordered_json invalid = nlohmann::ordered_json::array();
  for (const reorg::CounterExample& example : report.invalid)
    invalid.push_back({{"what", example.what}, {"events", example.events}});
  return {{"states", report.states}, {"invalid", std::move(invalid)}};
}

std::string order_text(const std::vector<reorg::StepKind>& order) {
  std::string text;
  for (const reorg::StepKind kind : order)
    text += (text.empty() ? "" : ", ") + std::string(reorg::to_string(kind));
  return text;
}

std::string examples_text(const reorg::StageReport& report) {
  std::string text;
  for (const reorg::CounterExample& example : report.invalid) {
    text += "  invalid: " + example.what + "\n";
    for (std::size_t i = 0; i < example.events.size(); ++i)
      text += fmt::format("    {}. {}\n", i + 1, example.events[i]);
  }
  return text;
}

void all_orders(const std::vector<std::string>& consumers, bool gated, Context& context) {
  Output output;
  output.name = "reorg stages";
  output.data["orders"] = nlohmann::ordered_json::array();
  std::string text;
  for (const reorg::OrderReport& each : reorg::all_orders(consumers, gated)) {
    nlohmann::ordered_json item{{"order", order_text(each.order)}};
    item.update(stage_json(each.report));
    output.data["orders"].push_back(std::move(item));
    text += fmt::format("{}: {}\n", order_text(each.order),
                        each.report.invalid.empty() ? "valid" : "invalid") +
            examples_text(each.report);
  }
  output.text = text;
  context.print(output);
}

void stages(const StagesCommand& command, Context& context) {
  const auto text = context.files.read(command.plan);
  if (!text) return context.fail(text.findings(), kExitBadInput);
  const auto plan = reorg::read_plan(*text, command.plan);
  if (!plan) return context.fail(plan.findings(), kExitBadInput);
  std::vector<std::string> consumers;
  for (const reorg::Consumer& consumer : plan->consumers) consumers.push_back(consumer.name);
  if (consumers.empty()) consumers.emplace_back("a consumer");
  if (command.all) return all_orders(consumers, !command.ungated, context);

  const std::vector<std::string> names =
      command.order.empty() ? std::vector<std::string>{"tag", "pin", "move", "follow"}
                            : command.order;
  std::vector<reorg::StepKind> kinds;
  for (const std::string& name : names) {
    for (const reorg::StepKind kind : {reorg::StepKind::kTag, reorg::StepKind::kPin,
                                       reorg::StepKind::kMove, reorg::StepKind::kFollow}) {
      if (name == reorg::to_string(kind)) kinds.push_back(kind);
    }
  }
  const reorg::StageReport report =
      reorg::walk_stages(reorg::steps_in(kinds, consumers.size(), !command.ungated), consumers);
  Output output;
  output.name = "reorg stages";
  output.judges = true;
  output.data["order"] = names;
  output.data.update(stage_json(report));
  output.data["gates"] = nlohmann::ordered_json::array();
  std::string said = fmt::format("{}: {}, {}\n", order_text(kinds), counted(report.states, "state"),
                                 report.invalid.empty() ? "none invalid" : "invalid ones");
  said += examples_text(report);
  for (const reorg::StepKind kind : kinds) {
    const std::string command_line = gate(kind, *plan, command.plan);
    output.data["gates"].push_back({{"step", reorg::to_string(kind)}, {"command", command_line}});
    said += fmt::format("gate before {}: {}\n", reorg::to_string(kind), command_line);
  }
  for (const reorg::CounterExample& example : report.invalid)
    output.findings.push_back(error_at({command.plan, 0, 0}, "reorg-stage", example.what,
                                       fmt::format("{}", fmt::join(example.events, ", then "))));
  output.data["findings"] = to_json(output.findings);
  output.text = said;
  context.print(output);
  if (!report.invalid.empty()) context.exit_code = kExitFailed;
}

}  // namespace

void add_reorg_stages(CLI::App& reorg, Context& context) {
  CLI::App* sub = reorg.add_subcommand(
      "stages", "Tag, pin, move, follow: whether anybody reads what is not there in between");
  auto command = std::make_shared<StagesCommand>();
  sub->add_option("plan", command->plan, "The plan, with its consumers")
      ->required()
      ->type_name("PLAN.yaml");
  sub->add_option("--order", command->order, "Another order of the steps")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>{"tag", "pin", "move", "follow"}))
      ->type_name("STEPS");
  sub->add_flag("--ungated", command->ungated,
                "No step waits until what was asked of consumers has happened");
  sub->add_flag("--all", command->all, "Every order of the four steps");
  sub->footer(
      "Exit code: 0 no state is invalid, 2 the plan can't be read, 3 one is: the way to it is "
      "shown.\n"
      "Example:\n  muster reorg stages plan.yaml --order tag,move,pin,follow");
  sub->callback([command, &context] { stages(*command, context); });
}

}  // namespace muster::cli
