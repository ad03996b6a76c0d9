# Rendered from image.yaml and facts/versions.yaml: change those, then `muster render --all`.

variable "region" {
  type        = string
  description = "Region that the image is made in."
}

variable "image_version" {
  type        = string
  description = "Version of the image; it is part of its name."
}

variable "instance_type" {
  type        = string
  description = "Instance type that the image is built on."
  default     = "trn1.2xlarge"
}

variable "subnet_id" {
  type        = string
  description = "Subnet to build in; empty: one of the default VPC."
  default     = ""
}

locals {
  # No two images, and no two builds of one, share a name.
  image_suffix = "${var.image_version}-${formatdate("YYYYMMDDhhmmss", timestamp())}"
}

source "amazon-ebs" "amazon_linux_2023" {
  region          = var.region
  subnet_id       = var.subnet_id
  instance_type   = var.instance_type
  ami_name        = "muster-eks-neuron-amazon-linux-2023-x86_64-${local.image_suffix}"
  ami_description = "Trainium node of EKS with EFA and Lustre"
  ssh_username    = "ec2-user"
  ena_support     = true
  source_ami      = local.source_ami_amazon_linux_2023

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  launch_block_device_mappings {
    device_name           = "/dev/xvda"
    volume_size           = 150
    volume_type           = "gp3"
    iops                  = 6000
    throughput            = 500
    delete_on_termination = true
  }

  tags = {
    Name            = "muster-eks-neuron"
    "muster:image"  = "eks-neuron"
    "muster:system" = "amazon-linux-2023"
  }
}

build {
  sources = ["source.amazon-ebs.amazon_linux_2023"]

  provisioner "ansible" {
    playbook_file    = "${path.root}/playbook.yml"
    user             = build.User
    use_proxy        = false
    ansible_env_vars = ["ANSIBLE_ROLES_PATH=${path.root}/../../roles"]
  }
}
