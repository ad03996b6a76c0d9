// What a plan has to know of a template: its parameters, outputs and what deletion keeps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"

namespace muster::architectures {

struct TemplateParameter {
  std::string name;
  bool has_default = false;
  std::vector<std::string> allowed;  ///< empty: any
  std::string pattern;               ///< empty: any
  Position where;
};

struct TemplateModel {
  std::vector<TemplateParameter> parameters;
  std::vector<std::string> outputs;
  std::vector<std::string> keeps;  ///< "LogicalId (Type)" with a DeletionPolicy other than Delete

  const TemplateParameter* find(const std::string& name) const;
};

/// Failure: the text is no YAML, or holds no resources.
Result<TemplateModel> read_template(const std::string& text, const std::string& file);

}  // namespace muster::architectures
