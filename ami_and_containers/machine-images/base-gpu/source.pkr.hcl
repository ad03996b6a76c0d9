# Rendered from image.yaml and facts/versions.yaml: change those, then `muster render --all`.
# The image to start from, as the Region's public parameter names it today.

data "amazon-parameterstore" "ubuntu_24_04" {
  region = var.region
  name   = "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"
}

locals {
  source_ami_ubuntu_24_04 = data.amazon-parameterstore.ubuntu_24_04.value
}

data "amazon-parameterstore" "ubuntu_22_04" {
  region = var.region
  name   = "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id"
}

locals {
  source_ami_ubuntu_22_04 = data.amazon-parameterstore.ubuntu_22_04.value
}

data "amazon-parameterstore" "amazon_linux_2023" {
  region = var.region
  name   = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
}

locals {
  source_ami_amazon_linux_2023 = data.amazon-parameterstore.amazon_linux_2023.value
}
