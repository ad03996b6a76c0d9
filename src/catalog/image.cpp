#include "catalog/image.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/version.h"
#include "catalog/manifest.h"
#include "catalog/versions.h"
#include "facts/compatibility.h"
#include "facts/reading.h"

namespace muster::catalog {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImageFile = "image.yaml";
constexpr std::array<const char*, 2> kImageFolders = {"containers", "machine-images"};
// Roles that only make sense where there is such an accelerator, by the start of their name.
constexpr std::array<const char*, 4> kGpuRoles = {"nvidia_", "cuda", "gdrcopy", "nccl"};

class ImageRules {
 public:
  ImageRules(const Node& manifest, const std::string& expected_name, const facts::Facts& known)
      : manifest_(manifest), known_(known), values_(read_image(manifest, {})) {
    if (!expected_name.empty() && values_.name != expected_name) {
      wrong("name", "image-name",
            fmt::format("name is \"{}\", its folder {}", values_.name, expected_name),
            "name: " + expected_name);
    }
  }

  Findings run() {
    check_versions();
    check_accelerator();
    if (values_.machine) {
      check_sources();
    } else if (floats(values_.base)) {
      wrong("base", "image-source", fmt::format("base {} floats", values_.base),
            "a tag of one version, or a digest");
    }
    return std::move(findings_);
  }

 private:
  void wrong(const char* key, const char* rule, std::string message, std::string hint = {}) {
    const Node* node = node_at(manifest_, key);
    findings_.push_back(error_at(node ? node->where() : manifest_.where(), rule, std::move(message),
                                 std::move(hint)));
  }

  void check_versions() {
    facts::Selection selection = facts::everything(known_.versions);
    const Node* versions = node_at(manifest_, "versions");
    for (const Node::Entry& entry : versions ? versions->entries() : std::vector<Node::Entry>()) {
      const std::string& version = entry.value.text();
      if (!known_.versions.find(entry.key)) {
        findings_.push_back(error_at(entry.where, "image-version",
                                     fmt::format("unknown component \"{}\"", entry.key),
                                     "a row of facts/versions.yaml"));
        continue;
      }
      if (is_floating_version(version)) {
        findings_.push_back(error_at(entry.value.where(), "image-version",
                                     fmt::format("{} \"{}\" floats", entry.key, version),
                                     "a version"));
        continue;
      }
      const auto floor = known_.floors.find(entry.key);
      if (floor != known_.floors.end() &&
          compare_versions(version, floor->second).value_or(0) < 0) {
        findings_.push_back(error_at(
            entry.value.where(), "image-version",
            fmt::format("{} {} is below its floor {}", entry.key, version, floor->second)));
      }
      selection.versions[entry.key] = {version, entry.value.where()};
    }
    selection.gpus = values_.gpus;
    const Findings clashes = facts::check_compatibility(selection, known_.versions);
    findings_.insert(findings_.end(), clashes.begin(), clashes.end());
  }

  void check_accelerator() {
    if (values_.accelerator == "gpu" && values_.gpus.empty())
      wrong("accelerator", "image-accelerator", "a GPU image names no GPU", "gpus: [H100, …]");
    if (values_.accelerator != "gpu" && !values_.gpus.empty())
      wrong("gpus", "image-accelerator", "GPUs of an image that is for none", "accelerator: gpu");
    if (const Node* gpus = node_at(manifest_, "gpus")) {
      std::vector<std::string> names;
      for (const facts::Gpu& gpu : known_.versions.gpus) names.push_back(gpu.name);
      for (const Node& gpu : gpus->items()) {
        if (known_.versions.find_gpu(gpu.text())) continue;
        const auto meant = did_you_mean(gpu.text(), names);
        findings_.push_back(error_at(gpu.where(), "image-accelerator",
                                     fmt::format("unknown GPU \"{}\"", gpu.text()),
                                     meant ? fmt::format("did you mean \"{}\"?", *meant) : ""));
      }
    }
    for (const Named& part : values_.parts) {
      const bool of_gpu = std::any_of(kGpuRoles.begin(), kGpuRoles.end(), [&](const char* start) {
        return part.name.rfind(start, 0) == 0;
      });
      const bool of_neuron = part.name.rfind("neuron", 0) == 0;
      if ((of_gpu && values_.accelerator != "gpu") ||
          (of_neuron && values_.accelerator != "neuron")) {
        findings_.push_back(error_at(
            part.where, "image-accelerator",
            fmt::format("{} in an image with accelerator {}", part.name, values_.accelerator),
            of_gpu ? "accelerator: gpu" : "accelerator: neuron"));
      }
    }
  }

  bool has_part(const char* name) const {
    return std::any_of(values_.parts.begin(), values_.parts.end(),
                       [&](const Named& part) { return part.name == name; });
  }

  void check_sources() {
    for (const ImageSource& source : values_.sources) {
      const auto at = [&](const char* message, const char* hint) {
        findings_.push_back(error_at(source.where, "image-source", message, hint));
      };
      if (source.parameter.empty() == source.name.empty())
        at("a source has a parameter, or the name and owner of an image", "one of both");
      if (!source.name.empty() && source.owner.empty())
        at("whose image it is, is not said", "owner: amazon");
      if (!source.parameter.empty() && source.parameter.rfind("/aws/service/", 0) != 0)
        at("the parameter is not a public one",
           "/aws/service/…: it is there in every account and Region");
      if (!source.parameter.empty() || !source.name.empty()) check_driver(source);
    }
  }

  // A GPU image has its driver from a role or from what it is made from, whose name says so.
  void check_driver(const ImageSource& source) {
    const auto is_without = [&](const char* accelerator, const char* role, const char* word) {
      return values_.accelerator == accelerator && !has_part(role) &&
             values_.platform != "parallelcluster" &&
             source.parameter.find(word) == std::string::npos;
    };
    if (is_without("gpu", "nvidia_driver", "nvidia") || is_without("neuron", "neuron", "neuron")) {
      findings_.push_back(error_at(
          source.where, "image-accelerator",
          fmt::format("nothing brings the driver: no role does, and {} is no image with one",
                      source.parameter.empty() ? source.name : source.parameter),
          values_.accelerator == "gpu" ? "the role nvidia_driver" : "the role neuron"));
    }
  }

  const Node& manifest_;
  const facts::Facts& known_;
  ImageManifest values_;
  Findings findings_;
};

std::map<std::string, std::string> texts_of(const Node& manifest, const char* key) {
  std::map<std::string, std::string> texts;
  if (const Node* map = node_at(manifest, key)) {
    for (const Node::Entry& entry : map->entries()) texts[entry.key] = entry.value.text();
  }
  return texts;
}

Result<Node> read_manifest(const FileSystem& files, const fs::path& file) {
  const auto text = files.read(file);
  if (!text) return text.error();
  return parse_yaml(*text, file.string());
}

}  // namespace

std::string ImageSource::user() const {
  return system.rfind("ubuntu", 0) == 0 ? "ubuntu" : "ec2-user";
}

std::string ImageSource::device() const {
  return system.rfind("ubuntu", 0) == 0 ? "/dev/sda1" : "/dev/xvda";
}

std::string ImageSource::label() const {
  std::string label = system;
  std::replace_if(
      label.begin(), label.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return label;
}

Findings check_machine_image(const Node& manifest, const std::string& expected_name,
                             const facts::Facts& known) {
  return ImageRules(manifest, expected_name, known).run();
}

Findings check_container_image(const Node& manifest, const std::string& expected_name,
                               const facts::Facts& known) {
  return ImageRules(manifest, expected_name, known).run();
}

std::string image_name_of(const fs::path& manifest) {
  return manifest.filename() == kImageFile
             ? fs::absolute(manifest).lexically_normal().parent_path().filename().string()
             : std::string();
}

ImageManifest read_image(const Node& written, const fs::path& file) {
  ImageManifest image;
  image.file = file;
  image.machine = text_at(written, "kind") == "MachineImage";
  const Schema& schema = image.machine ? machine_image_schema() : container_image_schema();
  const Node manifest = schema.with_defaults(written);
  image.name = text_at(manifest, "name");
  image.description = text_at(manifest, "description");
  image.architecture = text_at(manifest, "architecture");
  image.accelerator = text_at(manifest, "accelerator");
  image.gpus = texts_at(manifest, "gpus");
  image.versions = texts_of(manifest, "versions");
  image.variables = texts_of(manifest, "variables");
  if (const Node* parts = node_at(manifest, image.machine ? "roles" : "steps")) {
    for (const Node& part : parts->items()) image.parts.push_back({part.text(), part.where()});
  }
  image.platform = text_at(manifest, "platform");
  image.instance_type = text_at(manifest, "instance_type");
  if (const Node* sources = node_at(manifest, "sources")) {
    for (const Node& source : sources->items()) {
      image.sources.push_back({text_at(source, "system"), text_at(source, "parameter"),
                               text_at(source, "name"), text_at(source, "owner"), source.where()});
    }
  }
  const auto number = [&](const char* key, int fallback) {
    return static_cast<int>(integer_at(manifest, key).value_or(fallback));
  };
  image.root_volume = {number("root_volume.size", 100), number("root_volume.iops", 3000),
                       number("root_volume.throughput", 125)};
  image.users = texts_at(manifest, "users");
  image.base = text_at(manifest, "base");
  image.environment = texts_of(manifest, "environment");
  return image;
}

std::vector<ImageEntry> list_images(const FileSystem& files, const fs::path& root,
                                    const facts::Facts& known) {
  std::vector<ImageEntry> entries;
  for (const char* folder : kImageFolders) {
    const fs::path parent = root / "ami_and_containers" / folder;
    const auto names = files.list(parent);
    if (!names) continue;
    for (const std::string& name : *names) {
      const fs::path file = parent / name / kImageFile;
      if (!files.exists(file)) continue;
      ImageEntry entry{name, file, {}, {}};
      const auto document = read_manifest(files, file);
      entry.problems = document ? check_manifest(*document, name, known) : document.findings();
      if (document && !has_errors(entry.problems)) entry.values = read_image(*document, file);
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

Result<ImageManifest> find_image(const FileSystem& files, const fs::path& root,
                                 const facts::Facts& known, const std::string& name) {
  std::vector<std::string> names;
  for (ImageEntry& entry : list_images(files, root, known)) {
    names.push_back(entry.name);
    if (entry.name != name) continue;
    if (has_errors(entry.problems)) return Failure(std::move(entry.problems));
    return std::move(entry.values);
  }
  return facts::unknown_name("image", name, names);
}

}  // namespace muster::catalog
