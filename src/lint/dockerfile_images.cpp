// Bases and versions of a Dockerfile: fixed, supported, not below their floors.
#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include <fmt/format.h>

#include "base/text.h"
#include "base/version.h"
#include "catalog/versions.h"
#include "lint/dockerfile_rules.h"

namespace muster::lint {
namespace {

/// "registry/name:tag@digest" in parts.
struct ImageName {
  std::string repository, last, tag;
  bool has_digest = false;
};

ImageName split_image(const std::string& image) {
  ImageName made;
  std::string rest = image;
  if (const auto at = rest.find('@'); at != std::string::npos) {
    made.has_digest = true;
    rest.erase(at);
  }
  const auto slash = rest.rfind('/');
  const auto colon = rest.find(':', slash == std::string::npos ? 0 : slash);
  if (colon != std::string::npos) {
    made.tag = rest.substr(colon + 1);
    rest.erase(colon);
  }
  made.repository = rest;
  made.last = slash == std::string::npos ? rest : rest.substr(slash + 1);
  return made;
}

// "latest", "2.7.0-latest", "vllm011.latest", "main", "v1.20.x".
bool is_floating_text(const std::string& version) {
  if (catalog::is_floating_version(version)) return true;
  static constexpr std::array<std::string_view, 10> kWords = {
      "latest", "main", "master", "nightly", "stable", "develop", "dev", "head", "HEAD", "edge"};
  std::size_t from = 0;
  while (from <= version.size()) {
    const std::size_t end = std::min(version.find_first_of(".-_/", from), version.size());
    const std::string part = version.substr(from, end - from);
    if (std::find(kWords.begin(), kWords.end(), part) != kWords.end()) return true;
    if (part == "x" && from > 0) return true;
    from = end + 1;
  }
  return false;
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Names whose value says which version, tag or commit is taken.
bool says_version(const std::string& name) {
  static constexpr std::array<std::string_view, 10> kEnds = {
      "VERSION", "_VER", "_TAG", "_REF", "_COMMIT", "_BRANCH", "_REV", "_SHA", "_IMAGE", "TAG"};
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [&](std::string_view end) { return ends_with(name, end); }) &&
         name != "MIN_VERSION";
}

// The floor's name of what a variable holds the version of; empty: none.
std::string component_of(const std::string& name) {
  if (name == "EFA_INSTALLER_VERSION" || name == "EFA_VERSION") return "efa";
  if (name == "NCCL_VERSION") return "nccl";
  if (name == "CUDA_VERSION") return "cuda";
  return {};
}

class Images {
 public:
  explicit Images(const DockerSubject& subject) : subject_(subject) {}

  Findings check() {
    for (std::size_t i = 0; i < subject_.file.stages.size(); ++i) check_stage(i);
    for (const DockerVariable& variable : subject_.file.variables) check_variable(variable);
    return std::move(findings_);
  }

 private:
  void wrong(std::size_t at, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(subject_.place(at), rule, std::move(message), std::move(hint)));
  }

  void check_stage(std::size_t index) {
    const DockerStage& stage = subject_.file.stages[index];
    if (stage.image == "scratch" || subject_.file.is_stage(stage.image, index)) return;
    if (!stage.unset.empty()) {
      wrong(stage.at, "docker-unset",
            fmt::format("{} has no default: the image can't be built without --build-arg",
                        stage.unset.front()),
            fmt::format("ARG {}=… above the first FROM", stage.unset.front()));
      return;
    }
    const ImageName image = split_image(stage.image);
    if (!image.has_digest && (image.tag.empty() || is_floating_text(image.tag))) {
      wrong(stage.at, "docker-floating",
            image.tag.empty() ? fmt::format("base {} has no tag", stage.image)
                              : fmt::format("base {} floats", stage.image),
            "a tag of one version, or a digest");
    }
    check_support(stage, image);
    check_tag(stage, image);
  }

  void check_support(const DockerStage& stage, const ImageName& image) {
    const facts::EndOfLife& old = subject_.known.end_of_life;
    const auto report = [&](const std::string& what, const std::string& since,
                            const std::string& successor) {
      wrong(stage.at, "docker-end-of-life",
            fmt::format("{} is without support since {}", what, since), successor);
    };
    for (const facts::OldRegistry& row : old.registries) {
      if (image.repository.find(row.registry) != std::string::npos)
        report(row.registry, row.since, row.successor);
    }
    if (const auto* row = facts::find_old_image(old, image.last, image.tag)) {
      report(fmt::format("{}{}", image.last, row->tag.empty() ? "" : ":" + row->tag), row->since,
             row->successor);
      return;
    }
    // What a tag says it is made of: "12.2.2-devel-ubuntu20.04".
    for (const facts::OldImage& row : old.images) {
      if (row.tag.empty() || (row.image != "ubuntu" && row.image != "debian")) continue;
      const std::string inside = row.image + row.tag;
      const auto at = image.tag.find(inside);
      if (at != std::string::npos &&
          (at + inside.size() == image.tag.size() ||
           !std::isalnum(static_cast<unsigned char>(image.tag[at + inside.size()]))))
        report(row.image + ":" + row.tag, row.since, row.successor);
    }
  }

  // Versions that a base's tag tells.
  void check_tag(const DockerStage& stage, const ImageName& image) {
    std::smatch match;
    static const std::regex kEfa(R"((?:^|[-_])efa(\d+(?:\.\d+)+))");
    static const std::regex kNccl(R"((?:^|[-_])ncclv?(\d+(?:\.\d+)+))");
    static const std::regex kCuda(R"((?:^|[-_])cuda(\d+(?:\.\d+)+))");
    static const std::regex kShort(R"((?:^|[-_])cu(\d\d)(\d)(?:[-_]|$))");
    static const std::regex kPlain(R"(^(\d+(?:\.\d+)+))");
    static const std::regex kRelease(R"(^(\d\d\.\d\d)(?:[.-]|$))");
    const std::string& tag = image.tag;
    if (std::regex_search(tag, match, kEfa)) check_floor(stage.at, "efa", match[1], "base");
    if (std::regex_search(tag, match, kNccl)) check_floor(stage.at, "nccl", match[1], "base");
    if (std::regex_search(tag, match, kCuda) ||
        (image.last == "cuda" && std::regex_search(tag, match, kPlain))) {
      check_floor(stage.at, "cuda", match[1], "base");
    } else if (std::regex_search(tag, match, kShort)) {
      check_floor(stage.at, "cuda", fmt::format("{}.{}", match[1].str(), match[2].str()), "base");
    } else if (image.repository.rfind("nvcr.io/nvidia/", 0) == 0 &&
               std::regex_search(tag, match, kRelease)) {
      check_release(stage, match[1]);
    }
  }

  // NVIDIA's containers of a month hold one CUDA.
  void check_release(const DockerStage& stage, const std::string& release) {
    const auto floor = subject_.known.floors.find("cuda");
    if (floor == subject_.known.floors.end()) return;
    for (const facts::NgcRelease& row : subject_.known.end_of_life.ngc) {
      const bool enough = compare_versions(row.cuda, floor->second).value_or(-1) >= 0;
      if (!enough || compare_versions(release, row.release).value_or(0) >= 0) continue;
      wrong(stage.at, "docker-floor",
            fmt::format("base {} holds a CUDA below the floor {}", stage.image, floor->second),
            fmt::format("release {} or newer", row.release));
      return;
    }
  }

  void check_floor(std::size_t at, const std::string& component, const std::string& version,
                   const char* what) {
    const auto floor = subject_.known.floors.find(component);
    if (floor == subject_.known.floors.end()) return;
    const auto order = compare_versions(version, floor->second);
    if (!order || *order >= 0) return;
    wrong(at, "docker-floor",
          fmt::format("{}: {} {} is below the floor {}", what, component, version, floor->second),
          fmt::format("{} or newer", floor->second));
  }

  void check_variable(const DockerVariable& variable) {
    if (!variable.value || variable.value->find('$') != std::string::npos) return;
    const std::string& value = *variable.value;
    if (says_version(variable.name) && !value.empty()) {
      const bool is_image =
          value.find('/') != std::string::npos || value.find(':') != std::string::npos;
      const ImageName image = split_image(value);
      const std::string version = is_image ? image.tag : value;
      if (!image.has_digest && is_floating_text(version) && !(is_image && image.tag.empty()))
        wrong(variable.at, "docker-floating",
              fmt::format("{}={} can mean another one tomorrow", variable.name, value),
              "a tag of one version, or a commit");
    }
    const std::string component = component_of(variable.name);
    if (!component.empty()) check_floor(variable.at, component, value, variable.name.c_str());
  }

  const DockerSubject& subject_;
  Findings findings_;
};

}  // namespace

Position DockerSubject::place(std::size_t at) const {
  return position_at(source.text, at, source.path.string());
}

Findings check_images(const DockerSubject& subject) {
  return Images(subject).check();
}

}  // namespace muster::lint
