// The architectures of a project: architectures/NAME/architecture.yaml, and the templates beside.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "architectures/plan.h"
#include "base/file_system.h"
#include "catalog/architecture.h"

namespace muster::architectures {

/// Names of the folders of `project`/architectures (or of the installation's) that hold an
/// architecture.yaml, sorted.
std::vector<std::string> architecture_names(const FileSystem& files,
                                            const std::filesystem::path& project);

/// One of them. Failure: there is none of that name ("did you mean"), or it can't be read.
Result<catalog::Architecture> load_architecture(const FileSystem& files,
                                                const std::filesystem::path& project,
                                                const std::string& name);

/// The templates that its stacks name, by that name. Failure: one can't be read.
Result<Templates> load_templates(const FileSystem& files, const std::filesystem::path& project,
                                 const catalog::Architecture& architecture);

/// The cluster.yaml files of the project's examples: architectures/NAME/examples/*/cluster.yaml.
std::vector<std::filesystem::path> example_clusters(const FileSystem& files,
                                                    const std::filesystem::path& project,
                                                    const std::string& name);

}  // namespace muster::architectures
