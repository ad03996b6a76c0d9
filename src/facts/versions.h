// The one catalog of versions: what images are made of, which floors they must not be below, and
// which versions go together. The data is facts/versions.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/finding.h"
#include "base/result.h"

namespace muster::facts {

/// Component -> oldest version that passes.
using Floors = std::map<std::string, std::string>;

/// One thing that images hold. What nobody knows is empty.
struct Component {
  std::string name;  ///< as image.pins names it: efa, nccl, cuda, …
  std::string title;
  std::string version;                        ///< empty: the distribution's own
  std::string tag, repository;                ///< of its git repository
  std::string url;                            ///< of its archive
  std::string comes_with;                     ///< another component that brings it along
  std::map<std::string, std::string> sha256;  ///< by architecture: x86_64, aarch64
  std::string source, date;
  Position where;
};

/// A model of GPU, as facts/instances.yaml names it.
struct Gpu {
  std::string name;
  std::string generation;  ///< Turing, Ampere, Ada, Hopper, Blackwell
  std::string compute;     ///< compute capability, 9.0
};

/// When every range of `when` holds (and one of `gpus` is there, if it names any), every range of
/// `needs` must hold, and all components of `same` must have one version.
struct Compatibility {
  std::string name;
  std::map<std::string, std::string> when, needs;  ///< component -> range (facts/compatibility.h)
  std::vector<std::string> gpus;                   ///< models or generations
  std::vector<std::string> same;
  std::string reason, source, date;
  Position where;
};

struct VersionCatalog {
  Floors floors;
  std::vector<Component> components;
  std::vector<Gpu> gpus;
  std::vector<Compatibility> compatibility;

  const Component* find(const std::string& name) const;  ///< null: no such component
  const Gpu* find_gpu(const std::string& name) const;    ///< null: no such model
};

Result<VersionCatalog> load_versions(const FileSystem& files, const std::filesystem::path& root);
Result<VersionCatalog> parse_versions(const std::string& text, const std::string& file);

}  // namespace muster::facts
