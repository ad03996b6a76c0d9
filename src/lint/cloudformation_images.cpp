// Images and volumes of instances, images of containers: what is no image, what nobody mends any
// more, what changes under its name.
#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "base/words.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

// Systems whose support has ended, by words of the names that AWS publishes images under.
struct CfnOldSystem {
  const char* words;
  const char* what;
  const char* successor;
};
constexpr std::array<CfnOldSystem, 8> kOldSystems = {{
    {"amzn2-ami", "Amazon Linux 2", "Amazon Linux 2023"},
    {"amazon-linux-2/", "Amazon Linux 2", "amazon-linux-2023"},
    {"amazon-linux-2-gpu", "Amazon Linux 2", "amazon-linux-2023"},
    {"ubuntu/server/18.04", "Ubuntu 18.04", "ubuntu/server/24.04"},
    {"ubuntu/server/20.04", "Ubuntu 20.04", "ubuntu/server/24.04"},
    {"ubuntu-20.04", "Ubuntu 20.04", "24.04"},
    {"ubuntu2004", "Ubuntu 20.04", "ubuntu2404"},
    {"alinux2/", "Amazon Linux 2", "alinux2023"},
}};

// The oldest minor version of Kubernetes 1 that EKS supports, extended support included: 1.31 ended
// on 2026-11-26, 1.32 ends on 2027-03-23 (docs.aws.amazon.com/eks, Kubernetes release calendar).
constexpr int kOldestKubernetes = 32;

class ImageCheck {
 public:
  explicit ImageCheck(CfnCheck& check) : check_(check), tree_(check.tree) {}

  void walk(const Node& node, std::string_view key) {
    for (const Node& item : node.items()) walk(item, key);
    for (const Node::Entry& entry : node.entries()) walk(entry.value, entry.key);
    if (key == "ImageId" || key == "ImageIdOverride" || key == "AmiId") {
      for (const Node* branch : tree_.branches(node)) image(*branch);
    }
    if (key == "Image" && node.is_scalar()) container(node);
    if (key == "VolumeType" && node.is_scalar() && node.text() == "gp2" && node.tag().empty())
      old_volume(node);
    if (key == "HttpTokens" && node.is_scalar() && node.text() == "optional") old_metadata(node);
    if (node.is_scalar()) old_system(node);
  }

  void kubernetes() {
    for (const Node::Entry* cluster : tree_.resources_of("AWS::EKS::Cluster")) {
      const Node* version = CfnTemplate::properties(cluster->value).find("Version");
      if (version == nullptr) continue;
      for (const std::string& text : tree_.texts(*version)) {
        const auto minor = text.starts_with("1.") ? whole(text.substr(2)) : std::nullopt;
        if (!minor || *minor >= kOldestKubernetes) continue;
        check_.wrong(version->where(), "cfn-end-of-life",
                     fmt::format("EKS no longer supports Kubernetes {}", text),
                     fmt::format("1.{} or later", kOldestKubernetes));
        break;
      }
    }
  }

  void presets() {
    for (const auto& [name, entry] : tree_.section("Parameters")) {
      const Node* preset = entry->value.find("Default");
      if (preset == nullptr || !preset->is_scalar()) continue;
      old_system(*preset);
      if (preset->text() == "gp2" && lower_case(name).find("volume") != std::string::npos)
        old_volume(*preset);
    }
  }

  // Launch templates and instances that let the old metadata service answer.
  void metadata() {
    for (const Node::Entry* entry : tree_.resources_of("AWS::EC2::LaunchTemplate")) {
      for (const Node* data :
           tree_.at(CfnTemplate::properties(entry->value), "LaunchTemplateData")) {
        const Node* options = data->find("MetadataOptions");
        const Node* tokens = options != nullptr ? options->find("HttpTokens") : nullptr;
        if (options == nullptr || (tokens == nullptr && !cfn_call(*options)))
          check_.warn(
              entry->where, "cfn-imds",
              fmt::format("{} does not ask for version 2 of the metadata service", entry->key),
              "MetadataOptions: {HttpTokens: required}");
      }
    }
  }

 private:
  void image(const Node& node) {
    std::string text;
    if (node.is_scalar() && node.tag().empty()) text = node.text();
    const std::string parameter = tree_.parameter_of(node);
    const Node::Entry* entry = tree_.find("Parameters", parameter);
    const Position* where = &node.where();
    if (entry != nullptr && tree_.parameter_type(parameter) == "String") {
      const Node* preset = entry->value.find("Default");
      if (preset == nullptr) return;
      text = preset->text();
      where = &preset->where();
    }
    if (!text.starts_with("/aws/service/")) return;
    check_.wrong(*where, "cfn-image",
                 fmt::format("\"{}\" is the path of a parameter, not an image", text),
                 "{{resolve:ssm:…}}, or a parameter of type "
                 "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>");
  }

  void container(const Node& node) {
    if (!node.tag().empty() && node.tag() != "!Sub") return;
    const std::string& text = node.text();
    const std::size_t slash = text.rfind('/') == std::string::npos ? 0 : text.rfind('/');
    const std::size_t colon = text.find(':', slash);
    if (text.empty() || text.find('@') != std::string::npos) return;
    if (text.find_first_of(" \n") != std::string::npos) return;
    const bool latest = colon == std::string::npos ? text.find('}') == std::string::npos
                                                   : text.substr(colon) == ":latest";
    if (latest)
      check_.wrong(node.where(), "cfn-floating",
                   fmt::format("the image {} changes under its name", text),
                   "a tag of one version, or a digest");
  }

  void old_volume(const Node& node) {
    check_.warn(node.where(), "cfn-volume", "gp2 is slower and dearer than gp3", "gp3");
  }

  void old_metadata(const Node& node) {
    check_.warn(node.where(), "cfn-imds",
                "version 1 of the metadata service gives credentials to "
                "any request from the instance",
                "HttpTokens: required");
  }

  void old_system(const Node& node) {
    const std::string& text = node.text();
    if (text.find("/aws/service/") == std::string::npos &&
        text.find("resolve:ssm") == std::string::npos)
      return;
    for (const CfnOldSystem& old : kOldSystems) {
      if (text.find(old.words) == std::string::npos) continue;
      return check_.wrong(node.where(), "cfn-end-of-life",
                          fmt::format("nobody mends {} any more", old.what), old.successor);
    }
    Regex::Match match;
    if (finds(pattern("/eks/optimized-ami/1\\.(\\d+)/"), text, match)) {
      const auto minor = whole(group(match, 1));
      if (minor && *minor < kOldestKubernetes)
        check_.wrong(node.where(), "cfn-end-of-life",
                     fmt::format("EKS no longer supports Kubernetes 1.{}", *minor),
                     fmt::format("1.{} or later", kOldestKubernetes));
    }
  }

  CfnCheck& check_;
  const CfnTemplate& tree_;
};

}  // namespace

void check_cfn_images(CfnCheck& check) {
  ImageCheck rules(check);
  if (const Node* resources = check.tree.root().find("Resources")) rules.walk(*resources, {});
  rules.presets();
  rules.kubernetes();
  rules.metadata();
}

}  // namespace muster::lint
