// Values that roles and steps ask for by name: versions of the catalog, what the manifest sets,
// what the hardware decides.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "catalog/image.h"
#include "facts/versions.h"

namespace muster::images {

/// Version, tag and addresses of a component, with what the image's manifest overrides.
class Versions {
 public:
  Versions(const catalog::ImageManifest& image, const facts::VersionCatalog& catalog)
      : image_(image), catalog_(catalog) {}

  /// COMPONENT_version, _tag, _repository, _url, _sha256; NAME_accelerator; NAME_gencode, what nvcc
  /// compiles for the image's GPUs. Nothing when the catalog does not say; a checksum that nobody
  /// knows is empty.
  std::optional<std::string> value(const std::string& name);

  /// A text with ${COMPONENT} in the place of versions. Nothing when one is not known.
  std::optional<std::string> fill(const std::string& text);

  /// What was asked for so far: component -> version.
  const std::map<std::string, std::string>& used() const { return used_; }

 private:
  const facts::Component* component(const std::string& name, const char* suffix);
  std::string version_of(const facts::Component& component) const;
  std::string gencode() const;

  const catalog::ImageManifest& image_;
  const facts::VersionCatalog& catalog_;
  std::map<std::string, std::string> used_;
};

}  // namespace muster::images
