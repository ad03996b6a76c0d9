// Variables of the fabric and of NCCL that an image sets for all that runs in it.
#include "lint/dockerfile_rules.h"
#include "lint/environment.h"

namespace muster::lint {
namespace {

// What the image's own arguments say of the libraries in it.
std::map<std::string, std::string> versions_of(const Dockerfile& file) {
  static const std::map<std::string, std::string> kNames = {
      {"EFA_INSTALLER_VERSION", "efa"}, {"EFA_VERSION", "efa"},
      {"NCCL_VERSION", "nccl"},         {"AWS_OFI_NCCL_VERSION", "ofi_nccl"},
      {"OFI_NCCL_VERSION", "ofi_nccl"}, {"LIBFABRIC_VERSION", "libfabric"},
      {"TORCH_VERSION", "torch"},       {"PYTORCH_VERSION", "torch"}};
  std::map<std::string, std::string> versions;
  for (const DockerVariable& variable : file.variables) {
    const auto known = kNames.find(variable.name);
    if (known == kNames.end() || !variable.value) continue;
    const auto first = variable.value->find_first_of("0123456789");  // v1.14.2-aws
    if (first == std::string::npos || variable.value->find('$') != std::string::npos) continue;
    const auto end = variable.value->find_first_not_of("0123456789.", first);
    versions[known->second] = variable.value->substr(first, end - first);
  }
  return versions;
}

}  // namespace

Findings check_image_environment(const DockerSubject& subject) {
  facts::Circumstances circumstances;
  circumstances.versions = versions_of(subject.file);
  std::vector<EnvironmentEntry> entries;
  for (const DockerVariable& variable : subject.file.variables) {
    // NCCL_VERSION and the like are the build's, not NCCL's.
    if (variable.is_arg || !variable.value || !is_of_fabric_or_nccl(variable.name) ||
        variable.name.ends_with("_VERSION"))
      continue;
    entries.push_back({variable.name, *variable.value, subject.place(variable.at)});
  }
  return check_environment_entries(entries, subject.known.environment, circumstances);
}

}  // namespace muster::lint
