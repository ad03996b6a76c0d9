#include "images/render.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::images {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRoles = "ami_and_containers/roles";

Finding part_finding(const catalog::Named& part, std::string message, std::string hint = {}) {
  return error_at(part.where, "image-part", std::move(message), std::move(hint));
}

Result<std::vector<RoleVariable>> variables_of(const catalog::Named& role, const FileSystem& files,
                                               const fs::path& project) {
  const fs::path folder = fs::path(kRoles) / role.name;
  if (!files.exists(project / folder / "tasks/main.yml")) {
    return Failure(part_finding(role, fmt::format("there is no role {}", role.name),
                                fmt::format("{}/tasks/main.yml", folder.string())));
  }
  const fs::path specification = folder / "meta/argument_specs.yml";
  const auto text = files.read(project / specification);
  const auto document =
      text ? parse_yaml(*text, specification.string()) : Result<Node>(text.error());
  const Node* options = document && document->is_mapping()
                            ? node_at(*document, "argument_specs.main.options")
                            : nullptr;
  if (!document || !document->is_mapping() || !node_at(*document, "argument_specs.main")) {
    return Failure(part_finding(
        role, fmt::format("the role {} does not say which variables it takes", role.name),
        specification.string()));
  }
  std::vector<RoleVariable> variables;
  for (const Node::Entry& option : options ? options->entries() : std::vector<Node::Entry>()) {
    variables.push_back({option.key, role.name,
                         boolean_at(option.value, "required").value_or(false),
                         text_at(option.value, "type") == "list"});
  }
  return variables;
}

std::string as_yaml_scalar(const std::string& text) {
  if (text == "true" || text == "false") return text;
  return "\"" + text + "\"";
}

}  // namespace

Result<std::vector<RoleVariable>> role_variables(const catalog::ImageManifest& image,
                                                 const FileSystem& files, const fs::path& project) {
  std::vector<RoleVariable> all;
  Findings findings;
  for (const catalog::Named& role : image.parts) {
    const auto variables = variables_of(role, files, project);
    if (!variables) {
      findings.insert(findings.end(), variables.findings().begin(), variables.findings().end());
      continue;
    }
    for (const RoleVariable& variable : *variables) {  // what several roles take is given once
      if (std::none_of(all.begin(), all.end(),
                       [&](const RoleVariable& other) { return other.name == variable.name; }))
        all.push_back(variable);
    }
  }
  if (!findings.empty()) return Failure(std::move(findings));
  return all;
}

Result<std::vector<Assignment>> assign(const catalog::ImageManifest& image,
                                       const std::vector<RoleVariable>& variables,
                                       Versions& versions) {
  std::vector<Assignment> values;
  Findings findings;
  for (const RoleVariable& variable : variables) {
    if (variable.is_list) {
      if (!variable.name.ends_with("_users") || image.users.empty()) continue;
      std::string list;
      for (const std::string& user : image.users) list += fmt::format("\n  - {}", user);
      values.push_back({variable.name, std::move(list)});
      continue;
    }
    const auto value = versions.value(variable.name);
    if (value) {
      values.push_back({variable.name, as_yaml_scalar(*value)});
    } else if (variable.required) {
      findings.push_back(error_at(
          {image.file.string(), 1, 1}, "image-variable",
          fmt::format("the role {} needs {}, which nothing says", variable.role, variable.name),
          "a row of facts/versions.yaml, or variables:"));
    }
  }
  for (const auto& own : image.variables) {
    if (std::none_of(variables.begin(), variables.end(),
                     [&](const RoleVariable& variable) { return variable.name == own.first; })) {
      findings.push_back(error_at({image.file.string(), 1, 1}, "image-variable",
                                  fmt::format("no role of the image takes {}", own.first)));
    }
  }
  if (!findings.empty()) return Failure(std::move(findings));
  return values;
}

Result<RenderedImage> render(const catalog::ImageManifest& image, const FileSystem& files,
                             const fs::path& project, const facts::VersionCatalog& catalog) {
  Versions versions(image, catalog);
  if (!image.machine) {
    auto text = dockerfile(image, files, project, versions);
    if (!text) return text.error();
    return RenderedImage{{{"Dockerfile", std::move(*text)}}, versions.used()};
  }
  const auto variables = role_variables(image, files, project);
  if (!variables) return variables.error();
  const auto values = assign(image, *variables, versions);
  if (!values) return values.error();
  auto rendered = packer_files(image, versions);
  if (!rendered) return rendered.error();
  rendered->push_back({"playbook.yml", playbook(image)});
  rendered->push_back({"group_vars/all.yml", group_vars(*values)});
  return RenderedImage{std::move(*rendered), versions.used()};
}

const std::vector<std::string>& rendered_names() {
  static const std::vector<std::string> kNames = {"Dockerfile",      "group_vars/all.yml",
                                                  "image.pkr.hcl",   "playbook.yml",
                                                  "plugins.pkr.hcl", "source.pkr.hcl"};
  return kNames;
}

}  // namespace muster::images
