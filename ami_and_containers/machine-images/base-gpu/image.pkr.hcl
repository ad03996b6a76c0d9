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
  default     = "g5.4xlarge"
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

source "amazon-ebs" "ubuntu_24_04" {
  region          = var.region
  subnet_id       = var.subnet_id
  instance_type   = var.instance_type
  ami_name        = "muster-base-gpu-ubuntu-24.04-x86_64-${local.image_suffix}"
  ami_description = "GPU node of plain EC2 with driver, CUDA, EFA, NCCL and containers"
  ssh_username    = "ubuntu"
  ena_support     = true
  source_ami      = local.source_ami_ubuntu_24_04

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  launch_block_device_mappings {
    device_name           = "/dev/sda1"
    volume_size           = 150
    volume_type           = "gp3"
    iops                  = 6000
    throughput            = 500
    delete_on_termination = true
  }

  tags = {
    Name            = "muster-base-gpu"
    "muster:image"  = "base-gpu"
    "muster:system" = "ubuntu-24.04"
  }
}

source "amazon-ebs" "ubuntu_22_04" {
  region          = var.region
  subnet_id       = var.subnet_id
  instance_type   = var.instance_type
  ami_name        = "muster-base-gpu-ubuntu-22.04-x86_64-${local.image_suffix}"
  ami_description = "GPU node of plain EC2 with driver, CUDA, EFA, NCCL and containers"
  ssh_username    = "ubuntu"
  ena_support     = true
  source_ami      = local.source_ami_ubuntu_22_04

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  launch_block_device_mappings {
    device_name           = "/dev/sda1"
    volume_size           = 150
    volume_type           = "gp3"
    iops                  = 6000
    throughput            = 500
    delete_on_termination = true
  }

  tags = {
    Name            = "muster-base-gpu"
    "muster:image"  = "base-gpu"
    "muster:system" = "ubuntu-22.04"
  }
}

source "amazon-ebs" "amazon_linux_2023" {
  region          = var.region
  subnet_id       = var.subnet_id
  instance_type   = var.instance_type
  ami_name        = "muster-base-gpu-amazon-linux-2023-x86_64-${local.image_suffix}"
  ami_description = "GPU node of plain EC2 with driver, CUDA, EFA, NCCL and containers"
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
    Name            = "muster-base-gpu"
    "muster:image"  = "base-gpu"
    "muster:system" = "amazon-linux-2023"
  }
}

build {
  sources = ["source.amazon-ebs.ubuntu_24_04", "source.amazon-ebs.ubuntu_22_04", "source.amazon-ebs.amazon_linux_2023"]

  provisioner "ansible" {
    playbook_file    = "${path.root}/playbook.yml"
    user             = build.User
    use_proxy        = false
    ansible_env_vars = ["ANSIBLE_ROLES_PATH=${path.root}/../../roles"]
  }
}
