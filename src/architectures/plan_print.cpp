// A plan as data and as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "architectures/plan.h"
#include "base/output.h"

namespace muster::architectures {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const PlannedStack& stack) {
  Json item = {{"name", stack.name}, {"id", stack.id}, {"template", stack.template_file}};
  item["parameters"] = Json::array();
  for (const PlannedParameter& one : stack.parameters) {
    Json parameter = {{"name", one.name}};
    if (one.stack.empty()) {
      parameter["value"] = one.value;
    } else {
      parameter["stack"] = one.stack;
      parameter["output"] = one.output;
    }
    parameter["source"] = one.source;
    item["parameters"].push_back(std::move(parameter));
  }
  item["capabilities"] = stack.capabilities;
  item["needs"] = stack.needs;
  item["keeps"] = stack.keeps;
  return item;
}

Json to_json(const AddressPlan& addresses) {
  Json data = {{"vpc", to_string(addresses.vpc)}, {"secondary", Json::array()}};
  for (const Ipv4Block& block : addresses.secondary) data["secondary"].push_back(to_string(block));
  data["zones"] = Json::array();
  for (const ZonePlan& zone : addresses.zones) {
    Json item = {{"zone", zone.zone}};
    if (zone.public_subnet) item["public"] = to_string(*zone.public_subnet);
    item["private"] = to_string(zone.private_subnet);
    item["control"] = to_string(zone.control_subnet);
    item["needed"] = zone.needed;
    item["room"] = zone.private_subnet.size() - kReservedAddresses;
    data["zones"].push_back(std::move(item));
  }
  return data;
}

Json to_json(const GroupLayout& layout) {
  Json item = {{"name", layout.group},  {"instance", layout.instance},
               {"count", layout.count}, {"zone", layout.zone},
               {"efa", layout.efa},     {"addresses", layout.addresses}};
  item["interfaces"] = Json::array();
  for (const facts::Interface& one : layout.interfaces)
    item["interfaces"].push_back({{"card", one.card}, {"device", one.device}, {"type", one.type}});
  return item;
}

std::string addresses_text(const AddressPlan& addresses) {
  std::string text = fmt::format("\naddresses: VPC {}", to_string(addresses.vpc));
  for (const Ipv4Block& block : addresses.secondary) text += ", " + to_string(block);
  text += "\n";
  for (const ZonePlan& zone : addresses.zones) {
    text += fmt::format("  {:<12} private {} ({} of {} addresses)", zone.zone,
                        to_string(zone.private_subnet), zone.needed,
                        zone.private_subnet.size() - kReservedAddresses);
    if (zone.public_subnet) text += ", public " + to_string(*zone.public_subnet);
    text += "\n";
  }
  return text;
}

std::string stack_text(const PlannedStack& stack, std::size_t number) {
  std::string text = fmt::format("  {}. {}  ({})\n", number, stack.name, stack.template_file);
  for (const PlannedParameter& one : stack.parameters) {
    text += fmt::format(
        "       {} = {}\n", one.name,
        one.stack.empty() ? one.value : fmt::format("<{} of {}>", one.output, one.stack));
  }
  if (!stack.keeps.empty())
    text += fmt::format("       kept when it is destroyed: {}\n", fmt::join(stack.keeps, ", "));
  return text;
}

}  // namespace

Json to_json(const Plan& plan) {
  Json data = {{"cluster", plan.cluster.name},
               {"architecture", plan.architecture.name},
               {"region", plan.cluster.region},
               {"partition", plan.cluster.partition()}};
  data["stacks"] = Json::array();
  for (const PlannedStack& stack : plan.stacks) data["stacks"].push_back(to_json(stack));
  if (!plan.addresses.zones.empty()) data["addresses"] = to_json(plan.addresses);
  data["groups"] = Json::array();
  for (const GroupLayout& layout : plan.layouts) data["groups"].push_back(to_json(layout));
  data["documents"] = Json::array();
  for (const PlannedDocument& document : plan.documents)
    data["documents"].push_back({{"file", document.file}, {"apply", document.apply}});
  data["needs"] = plan.needs;
  data["findings"] = muster::to_json(plan.findings);
  return data;
}

std::string to_text(const Plan& plan) {
  std::string text =
      fmt::format("{}: {} in {}\n", plan.cluster.name, plan.architecture.name, plan.cluster.region);
  if (!plan.stacks.empty()) text += "\nstacks, in order:\n";
  for (std::size_t i = 0; i < plan.stacks.size(); ++i) text += stack_text(plan.stacks[i], i + 1);
  if (!plan.addresses.zones.empty()) text += addresses_text(plan.addresses);
  if (!plan.layouts.empty()) text += "\ngroups:\n";
  for (const GroupLayout& layout : plan.layouts)
    text += fmt::format("  {:<12} {} {} in {}: {}\n", layout.group, layout.count, layout.instance,
                        layout.zone, describe(layout));
  if (!plan.documents.empty()) text += "\nthen:\n";
  for (const PlannedDocument& document : plan.documents)
    text +=
        fmt::format("  {}{}\n", document.file, document.apply.empty() ? "" : ": " + document.apply);
  if (!plan.needs.empty()) text += "\nhas to be there before:\n";
  for (const std::string& need : plan.needs) text += "  " + need + "\n";
  if (!plan.findings.empty()) text += "\n";
  for (const Finding& finding : plan.findings) text += to_string(finding) + "\n";
  return text;
}

}  // namespace muster::architectures
