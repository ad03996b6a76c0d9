// The playbook of a machine image, and the variables beside it.
#include <fmt/format.h>

#include "images/render.h"

namespace muster::images {

std::string playbook(const catalog::ImageManifest& image) {
  std::string text = fmt::format(
      "# Rendered from image.yaml: change that, then `muster render --all`.\n"
      "- name: {}\n"
      "  hosts: all\n"
      "  become: true\n"
      "  roles:\n",
      image.name);
  for (const catalog::Named& role : image.parts) text += fmt::format("    - role: {}\n", role.name);
  return text;
}

std::string group_vars(const std::vector<Assignment>& values) {
  std::string text =
      "# Rendered from image.yaml and facts/versions.yaml: change those, then `muster render "
      "--all`.\n";
  for (const Assignment& assignment : values) {
    const bool is_list = assignment.value.starts_with('\n');
    text += fmt::format("{}:{}{}\n", assignment.name, is_list ? "" : " ", assignment.value);
  }
  return text;
}

}  // namespace muster::images
