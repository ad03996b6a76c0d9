// The files of a planned cluster: templates, their parameters, documents for other tools.
#pragma once

#include <string>
#include <vector>

#include "architectures/plan.h"

namespace muster::architectures {

struct RenderedFile {
  std::string path;  ///< relative
  std::string content;
};

/// ID.yaml and ID.parameters.json of every stack, and the documents. `own_only`: no template that
/// is the architecture's as it stands, without anything of this cluster in it.
std::vector<RenderedFile> render(const Plan& plan, bool own_only);

/// The parameters of a stack as `aws cloudformation` takes them. `outputs` holds what is known of
/// "STACK.KEY"; what is not known stands as ${stacks.…}.
std::string parameters_json(const PlannedStack& stack,
                            const std::map<std::string, std::string>& outputs);

/// All files that a project keeps below architectures/ and that are made: templates with their
/// blocks as the facts have them, and EXAMPLE/rendered/ of every example. Paths from the project.
/// Failure: an example or a template that can't be planned.
Result<std::vector<RenderedFile>> kept_files(const FileSystem& files,
                                             const std::filesystem::path& project,
                                             const facts::Facts& known);

}  // namespace muster::architectures
