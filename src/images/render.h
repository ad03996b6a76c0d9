// An image's manifest to the files that make it: for a machine image Packer's templates, a playbook
// and its variables, for a container image a Dockerfile. Rule identifiers:
//   image-part      a role or a step that is not there, or whose description can't be read
//   image-variable  a variable that a part needs and that nothing says, or one that no part takes
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"
#include "catalog/image.h"
#include "facts/facts.h"
#include "images/variables.h"

namespace muster::images {

struct ImageFile {
  std::string path;  ///< relative to the manifest's folder
  std::string content;
};

/// One variable of a role, as its meta/argument_specs.yml describes it.
struct RoleVariable {
  std::string name, role;
  bool required = false;
  bool is_list = false;
};

/// A variable with its value as YAML.
struct Assignment {
  std::string name, value;
};

/// Variables of all roles of a machine image, by role and then as the role lists them.
Result<std::vector<RoleVariable>> role_variables(const catalog::ImageManifest& image,
                                                 const FileSystem& files,
                                                 const std::filesystem::path& project);

/// What the playbook is given: what roles need, from the catalog and the manifest.
Result<std::vector<Assignment>> assign(const catalog::ImageManifest& image,
                                       const std::vector<RoleVariable>& variables,
                                       Versions& versions);

std::string playbook(const catalog::ImageManifest& image);
std::string group_vars(const std::vector<Assignment>& values);

/// Packer's templates: what current Packer alone reads (plugins, look-up of parameters) in files of
/// their own, so that Packer 1.6 checks the rest.
Result<std::vector<ImageFile>> packer_files(const catalog::ImageManifest& image,
                                            Versions& versions);

Result<std::string> dockerfile(const catalog::ImageManifest& image, const FileSystem& files,
                               const std::filesystem::path& project, Versions& versions);

struct RenderedImage {
  std::vector<ImageFile> files;
  std::map<std::string, std::string> versions;  ///< component -> version, of all that they name
};

/// All files of an image.
Result<RenderedImage> render(const catalog::ImageManifest& image, const FileSystem& files,
                             const std::filesystem::path& project,
                             const facts::VersionCatalog& catalog);

/// Every name that an image of any kind may keep: one that is not rendered any more is a stray.
const std::vector<std::string>& rendered_names();

}  // namespace muster::images
