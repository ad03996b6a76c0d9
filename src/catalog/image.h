// Images: machine images, which Packer and Ansible make from a source image and roles, and
// container images, which a Dockerfile makes from a base and steps. The manifest is image.yaml in a
// folder of ami_and_containers/machine-images or ami_and_containers/containers; versions are those
// of facts/versions.yaml. Rule identifiers of what the schemas can't say:
//   image-name         the manifest is not named as its folder
//   image-source       not one source each, or no public parameter
//   image-accelerator  GPUs that are none, or roles of another accelerator; a GPU image without
//   driver image-version      a component that the catalog does not have, a version below its floor
//   version-clash      facts/compatibility.h
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/file_system.h"
#include "base/result.h"
#include "base/schema.h"
#include "facts/facts.h"

namespace muster::catalog {

/// What a machine image is made from, on one system: a public parameter of Systems Manager that
/// names the image of each Region, or the newest image of an owner by its name.
struct ImageSource {
  std::string system;  ///< ubuntu-24.04, ubuntu-22.04, amazon-linux-2023
  std::string parameter;
  std::string name, owner;
  Position where;

  std::string user() const;    ///< who ssh logs in as
  std::string device() const;  ///< the root volume's
  std::string label() const;   ///< the system as an identifier: ubuntu_24_04
};

struct RootVolume {
  int size = 100;  ///< GiB
  int iops = 3000;
  int throughput = 125;  ///< MiB/s
};

/// A role of a playbook, or a step of a Dockerfile.
struct Named {
  std::string name;
  Position where;
};

struct ImageManifest {
  bool machine = true;
  std::string name, description;
  std::string architecture = "x86_64";
  std::string accelerator = "cpu";               ///< cpu, gpu, neuron
  std::vector<std::string> gpus;                 ///< models; what is compiled is compiled for these
  std::map<std::string, std::string> versions;   ///< component -> version, instead of the catalog's
  std::map<std::string, std::string> variables;  ///< of roles or steps
  std::vector<Named> parts;                      ///< roles, or steps

  // Of machine images
  std::string platform;  ///< parallelcluster, eks, ec2
  std::string instance_type;
  std::vector<ImageSource> sources;
  RootVolume root_volume;
  std::vector<std::string> users;  ///< who may use containers, beside who ssh logs in as

  // Of container images
  std::string base;
  std::map<std::string, std::string> environment;

  std::filesystem::path file;
};

const Schema& machine_image_schema();
const Schema& container_image_schema();

Findings check_machine_image(const Node& manifest, const std::string& expected_name,
                             const facts::Facts& known);
Findings check_container_image(const Node& manifest, const std::string& expected_name,
                               const facts::Facts& known);

/// The name that a manifest's place asks for: its folder's; empty for any other file.
std::string image_name_of(const std::filesystem::path& manifest);

/// Expects a manifest without errors.
ImageManifest read_image(const Node& manifest, const std::filesystem::path& file);

/// One image of the project; a manifest that can't be read is listed with its problems.
struct ImageEntry {
  std::string name;
  std::filesystem::path file;
  ImageManifest values;
  Findings problems;
};

/// Every image.yaml two folders below ROOT/ami_and_containers, by path.
std::vector<ImageEntry> list_images(const FileSystem& files, const std::filesystem::path& root,
                                    const facts::Facts& known);

/// By name; failure: unknown (with "did you mean"), or what is wrong with it.
Result<ImageManifest> find_image(const FileSystem& files, const std::filesystem::path& root,
                                 const facts::Facts& known, const std::string& name);

}  // namespace muster::catalog
