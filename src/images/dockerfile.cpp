// The Dockerfile of a container image: its base, its steps with the catalog's versions, what it
// sets.
#include <cctype>

#include <fmt/format.h>

#include "images/render.h"

namespace muster::images {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSteps = "ami_and_containers/containers/steps";

bool is_ours(const std::string& name) {
  // Docker's own arguments and the shell's variables are upper case here.
  return !name.empty() && std::islower(static_cast<unsigned char>(name[0])) &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

// A step with ${efa_version} and the like filled in.
Result<std::string> filled_step(const catalog::Named& step, const std::string& text,
                                Versions& versions) {
  std::string filled;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = text.find("${", at);
    const std::size_t end = begin == std::string::npos ? begin : text.find('}', begin);
    if (end == std::string::npos) return filled + text.substr(at);
    const std::string name = text.substr(begin + 2, end - begin - 2);
    filled += text.substr(at, begin - at);
    at = end + 1;
    if (!is_ours(name)) {
      filled += "${" + name + "}";
      continue;
    }
    const auto value = versions.value(name);
    if (!value) {
      return Failure(
          error_at(step.where, "image-variable",
                   fmt::format("the step {} needs {}, which nothing says", step.name, name),
                   "a row of facts/versions.yaml, or variables:"));
    }
    filled += *value;
  }
}

}  // namespace

Result<std::string> dockerfile(const catalog::ImageManifest& image, const FileSystem& files,
                               const fs::path& project, Versions& versions) {
  std::string text = fmt::format(
      "# Rendered from image.yaml and facts/versions.yaml: change those, then `muster render "
      "--all`.\n"
      "# {}. Build it from this folder: docker build -t {} .\n"
      "FROM {}\n\nSHELL [\"/bin/bash\", \"-euo\", \"pipefail\", \"-c\"]\n",
      image.description, image.name, image.base);
  Findings findings;
  for (const catalog::Named& step : image.parts) {
    const fs::path path = fs::path(kSteps) / (step.name + ".block");
    const auto block = files.read(project / path);
    if (!block) {
      findings.push_back(error_at(step.where, "image-part",
                                  fmt::format("there is no step {}", step.name), path.string()));
      continue;
    }
    const auto filled = filled_step(step, *block, versions);
    if (filled) {
      text += "\n" + *filled;
    } else {
      findings.insert(findings.end(), filled.findings().begin(), filled.findings().end());
    }
  }
  if (!findings.empty()) return Failure(std::move(findings));
  std::string separator = "\nENV ";
  for (const auto& [name, value] : image.environment) {
    text += fmt::format("{}{}={}", separator, name, value);
    separator = " \\\n    ";
  }
  if (!image.environment.empty()) text += "\n";
  return text;
}

}  // namespace muster::images
