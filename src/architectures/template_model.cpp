#include "architectures/template_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/schema.h"

namespace muster::architectures {

const TemplateParameter* TemplateModel::find(const std::string& name) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const TemplateParameter& one) { return one.name == name; });
  return found != parameters.end() ? &*found : nullptr;
}

Result<TemplateModel> read_template(const std::string& text, const std::string& file) {
  const auto document = parse_yaml(text, file);
  if (!document) return document.error();
  const Node* resources = document->is_mapping() ? document->find("Resources") : nullptr;
  if (resources == nullptr || !resources->is_mapping())
    return Failure(error_at(document->where(), "template-empty", "the template has no Resources"));
  TemplateModel model;
  if (const Node* parameters = document->find("Parameters"); parameters != nullptr) {
    for (const Node::Entry& entry : parameters->entries()) {
      if (!entry.value.is_mapping()) continue;
      TemplateParameter parameter;
      parameter.name = entry.key;
      parameter.where = entry.where;
      parameter.has_default = entry.value.find("Default") != nullptr;
      parameter.allowed = texts_at(entry.value, "AllowedValues");
      parameter.pattern = text_at(entry.value, "AllowedPattern");
      model.parameters.push_back(std::move(parameter));
    }
  }
  if (const Node* outputs = document->find("Outputs"); outputs != nullptr) {
    for (const Node::Entry& entry : outputs->entries()) model.outputs.push_back(entry.key);
  }
  for (const Node::Entry& entry : resources->entries()) {
    if (!entry.value.is_mapping()) continue;
    const std::string policy = text_at(entry.value, "DeletionPolicy");
    if (!policy.empty() && policy != "Delete")
      model.keeps.push_back(fmt::format("{} ({})", entry.key, text_at(entry.value, "Type")));
  }
  return model;
}

}  // namespace muster::architectures
