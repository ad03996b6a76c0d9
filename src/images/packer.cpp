// Packer's templates of a machine image, in HCL2.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "images/render.h"

namespace muster::images {
namespace {

constexpr const char* kHead =
    "# Rendered from image.yaml and facts/versions.yaml: change those, then `muster render "
    "--all`.\n";

constexpr const char* kPlugins = R"(
# Of its own, since Packer before 1.7 does not know this block.
packer {
  required_version = ">= 1.7.0"
  required_plugins {
    amazon = {
      version = ">= 1.2.8, < 2.0.0"
      source  = "github.com/hashicorp/amazon"
    }
    ansible = {
      version = ">= 1.1.1, < 2.0.0"
      source  = "github.com/hashicorp/ansible"
    }
  }
}
)";

constexpr const char* kVariables = R"(
variable "region" {{
  type        = string
  description = "Region that the image is made in."
}}

variable "image_version" {{
  type        = string
  description = "Version of the image; it is part of its name."
}}

variable "instance_type" {{
  type        = string
  description = "Instance type that the image is built on."
  default     = "{instance}"
}}

variable "subnet_id" {{
  type        = string
  description = "Subnet to build in; empty: one of the default VPC."
  default     = ""
}}

locals {{
  # No two images, and no two builds of one, share a name.
  image_suffix = "${{var.image_version}}-${{formatdate("YYYYMMDDhhmmss", timestamp())}}"
}}
)";

constexpr const char* kSource = R"(
source "amazon-ebs" "{label}" {{
  region          = var.region
  subnet_id       = var.subnet_id
  instance_type   = var.instance_type
  ami_name        = "muster-{name}-{system}-{architecture}-${{local.image_suffix}}"
  ami_description = "{description}"
  ssh_username    = "{user}"
  ena_support     = true
{source}
  metadata_options {{
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }}

  launch_block_device_mappings {{
    device_name           = "{device}"
    volume_size           = {size}
    volume_type           = "gp3"
    iops                  = {iops}
    throughput            = {throughput}
    delete_on_termination = true
  }}

  tags = {{
    Name            = "muster-{name}"
    "muster:image"  = "{name}"
    "muster:system" = "{system}"
  }}
}}
)";

constexpr const char* kBuild = R"(
build {{
  sources = [{sources}]

  provisioner "ansible" {{
    playbook_file    = "${{path.root}}/playbook.yml"
    user             = build.User
    use_proxy        = false
    ansible_env_vars = ["ANSIBLE_ROLES_PATH=${{path.root}}/../../roles"]
  }}
}}
)";

std::string aligned(std::string line) {
  return "  " + std::move(line) + "\n";
}

// What the image is made from: looked up by parameter in source.pkr.hcl, or by its name.
std::string source_lines(const catalog::ImageManifest& image, const catalog::ImageSource& source,
                         const std::string& filled) {
  if (!source.parameter.empty())
    return aligned(fmt::format("source_ami      = local.source_ami_{}", source.label()));
  return fmt::format(
      "\n  source_ami_filter {{\n"
      "    filters = {{\n"
      "      name                = \"{}\"\n"
      "      architecture        = \"{}\"\n"
      "      root-device-type    = \"ebs\"\n"
      "      virtualization-type = \"hvm\"\n"
      "    }}\n"
      "    owners      = [\"{}\"]\n"
      "    most_recent = true\n"
      "  }}\n",
      filled, image.architecture == "aarch64" ? "arm64" : "x86_64", source.owner);
}

std::string lookup(const catalog::ImageSource& source, const std::string& parameter) {
  return fmt::format(
      "\ndata \"amazon-parameterstore\" \"{0}\" {{\n"
      "  region = var.region\n"
      "  name   = \"{1}\"\n"
      "}}\n\n"
      "locals {{\n"
      "  source_ami_{0} = data.amazon-parameterstore.{0}.value\n"
      "}}\n",
      source.label(), parameter);
}

}  // namespace

Result<std::vector<ImageFile>> packer_files(const catalog::ImageManifest& image,
                                            Versions& versions) {
  std::string main =
      kHead + fmt::format(fmt::runtime(kVariables), fmt::arg("instance", image.instance_type));
  std::string lookups;
  std::vector<std::string> names;
  for (const catalog::ImageSource& source : image.sources) {
    const auto filled = versions.fill(source.parameter.empty() ? source.name : source.parameter);
    if (!filled) {
      return Failure(error_at(source.where, "image-variable",
                              "a ${…} of the source is no component with a version",
                              "a row of facts/versions.yaml"));
    }
    main += fmt::format(
        fmt::runtime(kSource), fmt::arg("label", source.label()), fmt::arg("name", image.name),
        fmt::arg("system", source.system), fmt::arg("architecture", image.architecture),
        fmt::arg("description", image.description), fmt::arg("user", source.user()),
        fmt::arg("source", source_lines(image, source, *filled)),
        fmt::arg("device", source.device()), fmt::arg("size", image.root_volume.size),
        fmt::arg("iops", image.root_volume.iops),
        fmt::arg("throughput", image.root_volume.throughput));
    if (!source.parameter.empty()) lookups += lookup(source, *filled);
    names.push_back(fmt::format("\"source.amazon-ebs.{}\"", source.label()));
  }
  main += fmt::format(fmt::runtime(kBuild),
                      fmt::arg("sources", fmt::format("{}", fmt::join(names, ", "))));
  std::vector<ImageFile> files = {{"image.pkr.hcl", std::move(main)},
                                  {"plugins.pkr.hcl", std::string(kHead) + kPlugins}};
  if (!lookups.empty()) {
    files.push_back(
        {"source.pkr.hcl",
         std::string(kHead) +
             "# The image to start from, as the Region's public parameter names it today.\n" +
             lookups});
  }
  return files;
}

}  // namespace muster::images
