#include "architectures/render.h"

#include <fmt/format.h>

#include "architectures/catalogue.h"
#include "architectures/efa_cheatsheet.h"
#include "architectures/template_blocks.h"
#include "base/output.h"

namespace muster::architectures {

std::string parameters_json(const PlannedStack& stack,
                            const std::map<std::string, std::string>& outputs) {
  auto list = nlohmann::ordered_json::array();
  for (const PlannedParameter& one : stack.parameters) {
    std::string value = one.value;
    if (!one.stack.empty()) {
      const auto known = outputs.find(one.stack + "." + one.output);
      value = known != outputs.end() ? known->second
                                     : fmt::format("${{stacks.{}.{}}}", one.stack, one.output);
    }
    list.push_back({{"ParameterKey", one.name}, {"ParameterValue", value}});
  }
  return json_text(list);
}

std::vector<RenderedFile> render(const Plan& plan, bool own_only) {
  std::vector<RenderedFile> files;
  for (const PlannedStack& stack : plan.stacks) {
    if (!own_only || !stack.is_plain) files.push_back({stack.file, stack.template_text});
    files.push_back({stack.id + ".parameters.json", parameters_json(stack, {})});
  }
  for (const PlannedDocument& document : plan.documents)
    files.push_back({document.file, document.content});
  return files;
}

Result<std::vector<RenderedFile>> kept_files(const FileSystem& files,
                                             const std::filesystem::path& project,
                                             const facts::Facts& known) {
  std::map<std::string, std::string> by_path;
  for (const std::string& name : architecture_names(files, project)) {
    const auto architecture = load_architecture(files, project, name);
    if (!architecture) return architecture.error();
    const auto templates = load_templates(files, project, *architecture);
    if (!templates) return templates.error();
    const std::filesystem::path folder = std::filesystem::path("architectures") / name;
    for (const auto& [file, text] : *templates) {
      const std::string path = (folder / file).lexically_normal().string();
      const auto filled = fill_template(text, path, known.instances);
      if (!filled) return filled.error();
      by_path[path] = *filled;
    }
    for (const auto& example : example_clusters(files, project, name)) {
      const auto plan = plan_file(files, project, example, known);
      if (!plan) return plan.error();
      if (has_errors(plan->findings)) return Failure(plan->findings);
      const auto rendered = example.parent_path().lexically_proximate(project) / "rendered";
      for (const RenderedFile& file : render(*plan, true))
        by_path[(rendered / file.path).string()] = file.content;
    }
  }
  if (!by_path.empty()) by_path["architectures/efa-cheatsheet.md"] = efa_cheatsheet(known);
  std::vector<RenderedFile> kept;
  kept.reserve(by_path.size());
  for (auto& [path, content] : by_path) kept.push_back({path, std::move(content)});
  return kept;
}

}  // namespace muster::architectures
