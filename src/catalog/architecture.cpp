#include "catalog/architecture.h"

#include <set>

#include <fmt/format.h>

#include "catalog/manifest.h"

namespace muster::catalog {
namespace {

Schema word_list(const char* doc) {
  return Schema::list(doc, Schema::text("One"));
}

Schema stack_schema() {
  return Schema::object(
      "A CloudFormation stack",
      {{"name", Schema::text("Last part of its name").form(kDnsLabel).required()},
       {"template", Schema::text("Its template, from this folder").required()},
       {"when", Schema::text("A key that must have a value; !key: none")},
       {"each", Schema::text("A stack of each group of this role").one_of({"compute", "login"})},
       {"parameters",
        Schema::map("Where each parameter's value comes from",
                    Schema::text("=TEXT, stacks.NAME.OUTPUT, or a key of the cluster"))},
       {"capabilities",
        Schema::list(
            "What creating it acknowledges",
            Schema::text("A capability").one_of({"CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"}))}});
}

Schema document_schema() {
  return Schema::object("A file for another tool",
                        {{"file", Schema::text("Its name").required()},
                         {"render", Schema::text("Who makes it").required()},
                         {"when", Schema::text("A key that must have a value; !key: none")},
                         {"apply", Schema::text("The command that uses it")}});
}

StackStep read_stack(const Node& node) {
  StackStep stack;
  stack.where = node.find("name")->where();
  stack.name = text_at(node, "name");
  stack.template_file = text_at(node, "template");
  stack.when = text_at(node, "when");
  stack.each = text_at(node, "each");
  stack.capabilities = texts_at(node, "capabilities");
  if (const Node* parameters = node_at(node, "parameters")) {
    for (const Node::Entry& entry : parameters->entries())
      stack.parameters.push_back({entry.key, entry.value.text(), entry.value.where()});
  }
  return stack;
}

Result<Architecture> architecture_from(const Node& document) {
  Findings findings = architecture_schema().check(document, "architecture");
  if (has_errors(findings)) return Failure(std::move(findings));
  Architecture architecture;
  architecture.file = document.where().file;
  architecture.name = text_at(document, "name");
  architecture.description = text_at(document, "description");
  architecture.needs = texts_at(document, "needs");
  architecture.capacities = texts_at(document, "supports.capacity");
  architecture.accounting = texts_at(document, "supports.accounting");
  architecture.directories = texts_at(document, "supports.directory");
  architecture.monitoring = texts_at(document, "supports.monitoring");
  architecture.roles = texts_at(document, "supports.roles");
  architecture.min_zones = static_cast<int>(integer_at(document, "supports.min_zones").value_or(1));
  std::set<std::string> earlier;
  if (const Node* stacks = node_at(document, "stacks")) {
    for (const Node& item : stacks->items()) {
      StackStep stack = read_stack(item);
      for (const ParameterSource& source : stack.parameters) {
        constexpr std::string_view kStacks = "stacks.";
        if (!source.source.starts_with(kStacks)) continue;
        const std::string rest = source.source.substr(kStacks.size());
        const std::string of = rest.substr(0, rest.find('.'));
        if (of.size() == rest.size() || earlier.count(of) == 0)
          findings.push_back(error_at(source.where, "architecture-order",
                                      fmt::format("{} is no output of an earlier stack", rest),
                                      "stacks.NAME.OUTPUT of a stack above"));
      }
      if (!earlier.insert(stack.name).second)
        findings.push_back(error_at(stack.where, "architecture-stack-twice",
                                    fmt::format("there are two stacks \"{}\"", stack.name)));
      architecture.stacks.push_back(std::move(stack));
    }
  }
  if (const Node* documents = node_at(document, "documents")) {
    for (const Node& item : documents->items())
      architecture.documents.push_back({text_at(item, "file"), text_at(item, "render"),
                                        text_at(item, "when"), text_at(item, "apply"),
                                        item.where()});
  }
  if (has_errors(findings)) return Failure(std::move(findings));
  return architecture;
}

}  // namespace

const Schema& architecture_schema() {
  static const Schema kSchema = Schema::object(
      "An architecture",
      {{"apiVersion", Schema::text("Version of this form").one_of({kApiVersion}).required()},
       {"kind", Schema::text("What this is").one_of({"Architecture"}).required()},
       {"name", Schema::text("Its folder's name").required()},
       {"description", Schema::text("What it stands up").required()},
       {"needs", word_list("What has to be there before")},
       {"supports",
        Schema::object("What of a cluster it can do",
                       {{"capacity", word_list("Kinds of capacity")},
                        {"accounting", word_list("Back-ends of Slurm's accounts")},
                        {"directory", word_list("Directories of users")},
                        {"monitoring", word_list("Who watches the nodes")},
                        {"roles", word_list("Roles of groups that there must be")},
                        {"min_zones", Schema::integer("Zones that it needs").at_least(1)}})},
       {"stacks", Schema::list("Stacks, in order", stack_schema())},
       {"documents", Schema::list("Files for other tools", document_schema())}});
  return kSchema;
}

Result<Architecture> read_architecture(std::string_view text, const std::string& file) {
  const auto document = parse_yaml(text, file);
  if (!document) return document.error();
  return architecture_from(*document);
}

Findings check_architecture(const Node& document) {
  const auto architecture = architecture_from(document);
  return architecture ? Findings() : architecture.findings();
}

}  // namespace muster::catalog
